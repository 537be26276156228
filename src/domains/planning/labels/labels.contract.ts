import type { Contract } from "#test/contract.ts";
import { inGroup, inProject, READ, WRITE } from "#test/matrix/line.ts";
import { at, insertForIds, word } from "#test/matrix/rows.ts";
import { any, common, costly, FIRST, list, none, PLACES } from "#test/plans/request.ts";

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
  plans: {
    // The project and the group with the most labels, and a subgroup of the largest group.
    sample: `select
      (select project_id from labels where project_id is not null group by 1 order by count(*) desc, 1 limit 1) as project,
      (select group_id from labels where group_id is not null group by 1 order by count(*) desc, 1 limit 1) as largest,
      (select min(id) from namespaces where path = 'harbour-works' and parent_id is null) as "group",
      (select min(p.id) from projects p join namespaces n on n.id = p.namespace_id
        where cardinality(n.traversal_ids) > 1 and n.kind = 'group') as nested`,
    requests: ({ project, largest, group, nested }) => [
      ...list(`/projects/${project}/labels`, {
        filters: ["", "archived=false", none("search=nothing"), common("search=area"), costly("with_counts=true")],
        places: PLACES,
      }),
      ...list(`/projects/${nested}/labels`, { places: FIRST }),
      ...list(`/groups/${largest}/labels`, {
        filters: ["", "search=urgent", costly("with_counts=true")],
        places: FIRST,
      }),
      ...list(`/groups/${group}/labels`, {
        callers: ["member of the largest", "administrator"],
        filters: [
          any("include_descendant_groups=true"),
          costly("only_group_labels=false&include_descendant_groups=true"),
        ],
        places: FIRST,
      }),
    ],
    indexes: ({ largest }) => ({
      labels_of_group_taken: `/groups/${largest}/labels`,
    }),
  },
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
