import type { Contract } from "#test/contract.ts";
import { inGroup, inProject, READ, WRITE } from "#test/matrix/line.ts";
import { at, insertForIds, word } from "#test/matrix/rows.ts";

const LABEL = { child: "label" } as const;
const NAMED = { child: "label", childBy: "label_id" } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const NEW_LABEL = { ...READ_ONLY, send: "name=*&color=teal" } as const;
const CHANGE = { ...READ_ONLY, send: "new_name=*&description=*" } as const;

export const contract: Contract = {
  lines: {
    "GET /projects/:id/labels": inProject("viewer", 200, READ, { holds: "label" }),
    "GET /projects/:id/labels/:label_id": inProject("viewer", 200, READ, { ...LABEL, inherits: true }),
    "POST /projects/:id/labels": inProject("planner", 201, WRITE, NEW_LABEL),
    "PUT /projects/:id/labels/:label_id": inProject("planner", 200, WRITE, { ...LABEL, ...CHANGE }),
    "PUT /projects/:id/labels": inProject("planner", 200, WRITE, { ...NAMED, ...CHANGE }),
    "DELETE /projects/:id/labels/:label_id": inProject("planner", 204, WRITE, { ...LABEL, ...READ_ONLY }),
    "DELETE /projects/:id/labels": inProject("planner", 204, WRITE, { ...NAMED, ...READ_ONLY }),
    // The role must come from the group, which gets the label.
    "PUT /projects/:id/labels/:label_id/promote": inProject("planner", 200, WRITE, {
      ...{ ...LABEL, ...READ_ONLY },
      roleAbove: "planner",
    }),
    "GET /groups/:id/labels": inGroup("viewer", 200, READ, { holds: "label" }),
    "GET /groups/:id/labels/:label_id": inGroup("viewer", 200, READ, { ...LABEL, inherits: true }),
    "POST /groups/:id/labels": inGroup("planner", 201, WRITE, NEW_LABEL),
    "PUT /groups/:id/labels/:label_id": inGroup("planner", 200, WRITE, { ...LABEL, ...CHANGE }),
    "PUT /groups/:id/labels": inGroup("planner", 200, WRITE, { ...NAMED, ...CHANGE }),
    "DELETE /groups/:id/labels/:label_id": inGroup("planner", 204, WRITE, { ...LABEL, ...READ_ONLY }),
    "DELETE /groups/:id/labels": inGroup("planner", 204, WRITE, { ...NAMED, ...READ_ONLY }),
  },
  tables: ["labels", "label_priorities"],
  differing: ["name"],
  fixtures: {
    label: {
      parents: ["project", "group"],
      above: true,
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "labels",
          parents.map((parent) => ({
            ...{ project_id: null, group_id: null, ...at(parent) },
            ...{ name: word(), color: "#336699", archived: false },
            ...{ created_at: new Date().toISOString(), updated_at: new Date().toISOString() },
          })),
          "name",
        ),
    },
  },
};
