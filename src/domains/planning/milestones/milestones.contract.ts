import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, READ, WRITE } from "#test/matrix/line.ts";
import { at, insert, insertForIds, project, word } from "#test/matrix/rows.ts";
import { any, costly, FIRST, list, none, PLACES } from "#test/plans/request.ts";

const MILESTONE = { child: "milestone" } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const NEW_MILESTONE = { ...READ_ONLY, send: "title=*&due_date=2031-05-05" } as const;
const CHANGE = { ...MILESTONE, ...READ_ONLY, send: "title=*&state_event=close" } as const;

const ISSUES_OF_EACH = 5;

const times = () => ({ created_at: new Date().toISOString(), updated_at: new Date().toISOString() });

const milestonesOf = (db: FixtureContext["db"], parents: readonly Parent[]) =>
  insertForIds(
    db,
    "milestones",
    parents.map((parent) => ({
      ...{ project_id: null, group_id: null, ...at(parent), ...times() },
      ...{ iid: randomInt(1, 2 ** 30), title: word(), state: "active", due_date: "2031-01-01" },
    })),
    "title",
  );

/** Issues in each project, with the milestone at the same place. */
const issuesWith = (db: FixtureContext["db"], projects: readonly number[], milestones: readonly number[]) =>
  insert(
    db,
    "issues",
    projects.flatMap((project_id, index) =>
      Array.from({ length: ISSUES_OF_EACH }, () => ({
        ...{ project_id, iid: randomInt(1, 2 ** 30), title: word(), ...times() },
        ...{ milestone_id: milestones[index], state: "opened", issue_type: "issue", confidential: false },
      })),
    ),
  );

export const contract: Contract = {
  lines: {
    "GET /projects/:id/milestones": inProject("viewer", 200, READ, { holds: "milestone" }),
    "GET /projects/:id/milestones/:milestone_id": inProject("viewer", 200, READ, MILESTONE),
    "GET /projects/:id/milestones/:milestone_id/issues": inProject("viewer", 200, READ, {
      child: "milestone of a project with issues",
    }),
    "POST /projects/:id/milestones": inProject("planner", 201, WRITE, NEW_MILESTONE),
    "PUT /projects/:id/milestones/:milestone_id": inProject("planner", 200, WRITE, CHANGE),
    "DELETE /projects/:id/milestones/:milestone_id": inProject("planner", 204, WRITE, { ...MILESTONE, ...READ_ONLY }),
    // The role must come from the group, which gets the milestone.
    "POST /projects/:id/milestones/:milestone_id/promote": inProject("planner", 200, WRITE, {
      ...{ ...MILESTONE, ...READ_ONLY },
      roleAbove: "planner",
    }),
    "GET /groups/:id/milestones": inGroup("viewer", 200, READ, { holds: "milestone" }),
    "GET /groups/:id/milestones/:milestone_id": inGroup("viewer", 200, READ, MILESTONE),
    "GET /groups/:id/milestones/:milestone_id/issues": inGroup("viewer", 200, READ, {
      child: "milestone of a group with issues",
    }),
    "POST /groups/:id/milestones": inGroup("planner", 201, WRITE, NEW_MILESTONE),
    "PUT /groups/:id/milestones/:milestone_id": inGroup("planner", 200, WRITE, CHANGE),
    "DELETE /groups/:id/milestones/:milestone_id": inGroup("planner", 204, WRITE, { ...MILESTONE, ...READ_ONLY }),
  },
  tables: ["milestones", "project_milestone_counters", "group_milestone_counters"],
  differing: ["title"],
  unrepeatable: {
    "POST /projects/:id/milestones/:milestone_id/promote": "the first milestone of a group creates its counter",
  },
  plans: {
    // The project and the group with the most milestones, the largest group, a project in a subgroup, and two milestones.
    sample: `select
      (select project_id from milestones where project_id is not null group by 1 order by count(*) desc, 1 limit 1) as project,
      (select group_id from milestones where group_id is not null group by 1 order by count(*) desc, 1 limit 1) as largest,
      (select milestone_id from issues i join milestones m on m.id = i.milestone_id where m.project_id is not null
        group by 1 order by count(*) desc, 1 limit 1) as common,
      n.id as "group", (select min(m.id) from milestones m where m.group_id = n.id) as release,
      (select min(p.id) from projects p join namespaces n on n.id = p.namespace_id
        where cardinality(n.traversal_ids) > 1 and n.kind = 'group') as nested
      from namespaces n where n.path = 'harbour-works' and n.parent_id is null`,
    requests: ({ project, largest, group, nested, common, release }) => [
      ...list(`/projects/${project}/milestones`, {
        filters: ["", "state=active", none("search=nothing"), "include_ancestors=true", any("iids[]=1")],
        places: PLACES,
      }),
      ...list(`/projects/${nested}/milestones`, { filters: [any("include_ancestors=true")], places: FIRST }),
      ...list(`/groups/${largest}/milestones`, { filters: ["", any("title=Release 1")], places: FIRST }),
      ...list(`/groups/${group}/milestones`, {
        callers: ["member of the largest", "administrator"],
        filters: [costly("include_descendants=true")],
        places: FIRST,
      }),
      ...list(`/projects/${project}/milestones/${common}/issues`, { places: FIRST }),
      ...list(`/groups/${group}/milestones/${release}/issues`, {
        callers: ["member of the largest", "administrator"],
        places: FIRST,
      }),
    ],
    indexes: ({ project, largest }) => ({
      milestones_of_project_by_due_date: `/projects/${project}/milestones`,
      milestones_of_group_by_due_date: `/groups/${largest}/milestones`,
    }),
  },
  fixtures: {
    milestone: { parents: ["project", "group"], above: true, make: ({ db }, parents) => milestonesOf(db, parents) },
    "milestone of a project with issues": {
      parents: ["project"],
      async make({ db }, parents) {
        const ids = await milestonesOf(db, parents);
        await issuesWith(
          db,
          parents.map((parent) => parent.id),
          ids,
        );
        return ids;
      },
    },
    "milestone of a group with issues": {
      parents: ["group"],
      async make({ db }, parents) {
        const ids = await milestonesOf(db, parents);
        const inside = parents.map(({ id }) => project(id, { visibility: "private" }));
        await issuesWith(db, await insertForIds(db, "projects", inside), ids);
        return ids;
      },
    },
  },
};
