import type { Contract } from "#test/contract.ts";
import { CLOSED, inGroup, inProject, line, NOT_MARKED, PICTURE, READ, WRITE } from "#test/matrix/line.ts";
import { group, insertForIds } from "#test/matrix/rows.ts";

const NEW = "name=*&path=*";

export const contract: Contract = {
  lines: {
    "GET /groups": [
      inGroup("viewer", 200, READ, { foundBy: "viewers", send: "all_available=true" }),
      inGroup("viewer", 200, READ, { foundBy: "its own", send: "all_available=false" }),
    ],
    "POST /groups": [
      line(401, 201, 201, WRITE, { send: NEW, external: 403, entity: "Group" }),
      inGroup("maintainer", 201, WRITE, { by: "parent_id", send: NEW, answers: CLOSED }),
    ],
    "GET /groups/:id": inGroup("viewer", 200, READ),
    "PUT /groups/:id": inGroup("owner", 200, WRITE, { send: "description=*" }),
    "DELETE /groups/:id": inGroup("owner", 202, WRITE, { answers: { "marked for deletion": 400 } }),
    "POST /groups/:id/restore": inGroup("owner", 201, WRITE, { state: "marked for deletion", answers: NOT_MARKED }),
    "POST /groups/:id/archive": inGroup("owner", 201, WRITE),
    "POST /groups/:id/unarchive": inGroup("owner", 201, WRITE, { state: "archived" }),
    "POST /groups/:id/transfer": inGroup("owner", 201, WRITE, { external: 403 }),
    "GET /groups/:id/subgroups": inGroup("viewer", 200, READ, { holds: "subgroup" }),
    "GET /groups/:id/descendant_groups": inGroup("viewer", 200, READ, { holds: "subgroup" }),
    "GET /projects/:id/groups": inProject("viewer", 200, READ),
    "GET /uploads/-/system/group/avatar/:id/:file": inGroup("viewer", 200, READ, { send: PICTURE }),
  },
  fixtures: {
    subgroup: {
      parents: ["group"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "namespaces",
          parents.map(({ id }) => group(id, { visibility: "private" })),
        ),
    },
  },
};
