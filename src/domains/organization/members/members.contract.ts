import type { Contract, Parent } from "#test/contract.ts";
import { FOUND, inGroup, inProject, line, READ, READ_USER, WRITE } from "#test/matrix/line.ts";
import { at, group, insert, insertForId, membership, share } from "#test/matrix/rows.ts";

const MEMBER = "user_id={user}&access_level=20";
const OWNER = "user_id={user}&access_level=50";

const isHere = ({ name }: Parent) => name === "0";

export const contract: Contract = {
  lines: {
    "GET /groups/:id/members": inGroup("viewer", 200, READ, { holds: "member" }),
    "GET /groups/:id/members/all": [
      inGroup("viewer", 200, READ, { holds: "member" }),
      inGroup("viewer", 200, READ, { holds: "hidden member" }),
    ],
    "GET /groups/:id/members/:user_id": inGroup("viewer", 200, READ, { child: "member" }),
    "GET /groups/:id/members/all/:user_id": [
      inGroup("viewer", 200, READ, { child: "member", inherits: true }),
      inGroup("viewer", 200, READ, { child: "hidden member" }),
    ],
    "POST /groups/:id/members": inGroup("owner", 201, WRITE, { send: MEMBER }),
    "PUT /groups/:id/members/:user_id": inGroup("owner", 200, WRITE, { child: "member", send: "access_level=20" }),
    "DELETE /groups/:id/members/:user_id": [
      inGroup("owner", 204, WRITE, { child: "member" }),
      inGroup("viewer", 204, WRITE, { signedIn: true, child: "oneself" }),
    ],
    "GET /projects/:id/members": inProject("viewer", 200, READ, { holds: "member" }),
    "GET /projects/:id/members/all": [
      inProject("viewer", 200, READ, { holds: "member" }),
      inProject("viewer", 200, READ, { holds: "hidden member" }),
    ],
    "GET /projects/:id/users": [
      inProject("viewer", 200, READ, { holds: "member" }),
      inProject("viewer", 200, READ, { holds: "hidden member" }),
    ],
    "GET /projects/:id/members/:user_id": inProject("viewer", 200, READ, { child: "member" }),
    "GET /projects/:id/members/all/:user_id": [
      inProject("viewer", 200, READ, { child: "member", inherits: true }),
      inProject("viewer", 200, READ, { child: "hidden member" }),
    ],
    "POST /projects/:id/members": [
      inProject("maintainer", 201, WRITE, { send: MEMBER }),
      inProject("maintainer", 201, WRITE, { requestRole: "owner", send: OWNER }),
    ],
    "PUT /projects/:id/members/:user_id": [
      inProject("maintainer", 200, WRITE, {
        child: "member",
        send: "access_level=20",
      }),
      inProject("maintainer", 200, WRITE, { requestRole: "owner", child: "member", send: "access_level=50" }),
    ],
    "DELETE /projects/:id/members/:user_id": [
      inProject("maintainer", 204, WRITE, { child: "member" }),
      inProject("viewer", 204, WRITE, { signedIn: true, child: "oneself" }),
    ],
    "GET /users/:id/memberships": line(401, 403, FOUND, READ_USER, { object: "user" }),
    "GET /users/:id/associations_count": line(401, [200, 403, 403], FOUND, READ_USER, { object: "user" }),
  },
  tables: ["members"],
  fixtures: {
    member: {
      parents: ["group", "project"],
      above: true,
      async make({ db, person }, parents) {
        const users = await Promise.all(parents.map(({ name }) => person(name)));
        await insert(
          db,
          "members",
          parents.map((parent, index) => membership(at(parent), users[index] ?? 0, "guest")),
        );
        return users;
      },
    },
    // Of a private group that it is shared with: only administrators see that group.
    "hidden member": {
      parents: ["group", "project"],
      async make({ db, person, once }, parents) {
        const user = await person("hidden");
        const hidden = await once("hidden group", async () => {
          const id = await insertForId(db, "namespaces", group(null, { visibility: "private" }));
          await insert(db, "members", [membership({ group_id: id }, user, "guest")]);
          return id;
        });
        const here = parents.filter(isHere);
        await insert(
          db,
          "shares",
          here.map((parent) => share(at(parent), hidden, "developer")),
        );
        const elsewhere = await person("elsewhere");
        return parents.map(({ name }) => (name.startsWith("elsewhere") ? elsewhere : user));
      },
    },
    oneself: {
      parents: ["group", "project"],
      make: (_, parents) => Promise.resolve(parents.map(({ acting = 0 }) => acting)),
    },
  },
};
