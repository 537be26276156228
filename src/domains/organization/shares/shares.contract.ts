import type { Contract, Fixture } from "#test/contract.ts";
import { inGroup, inProject, WRITE } from "#test/matrix/line.ts";
import { at, insert, share } from "#test/matrix/rows.ts";

const SHARE = "group_id={group}&group_access=20";

const sharedAt = (level: "guest" | "owner"): Fixture => ({
  parents: ["group", "project"],
  above: true,
  async make({ db, group }, parents) {
    const groups = await Promise.all(parents.map(({ name }) => group(`${name}, ${level}`)));
    await insert(
      db,
      "shares",
      parents.map((parent, index) => share(at(parent), groups[index] ?? 0, level)),
    );
    return groups;
  },
});

export const contract: Contract = {
  lines: {
    "POST /groups/:id/share": inGroup("owner", 201, WRITE, { send: SHARE }),
    "DELETE /groups/:id/share/:group_id": [
      inGroup("owner", 204, WRITE, { child: "share" }),
      inGroup("owner", 204, WRITE, { child: "owner share" }),
    ],
    "POST /projects/:id/share": inProject("maintainer", 201, WRITE, { send: SHARE }),
    "DELETE /projects/:id/share/:group_id": [
      inProject("maintainer", 204, WRITE, { child: "share" }),
      inProject("maintainer", 204, WRITE, { requestRole: "owner", child: "owner share" }),
    ],
  },
  tables: ["shares"],
  fixtures: { share: sharedAt("guest"), "owner share": sharedAt("owner") },
};
