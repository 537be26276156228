import { randomInt } from "node:crypto";
import type { Contract, FixtureContext } from "#test/contract.ts";
import { FOUND, inGroup, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { any, common, costly, FIRST, list, none, unskippable } from "#test/plans/request.ts";
import { insert, insertForId, insertForIds, personalProjects, project, word } from "#test/matrix/rows.ts";

const ISSUE = { child: "issue" } as const;
/** A write of those who manage issues, in projects that are not archived. */
const MANAGED = {
  child: "issue",
  signedIn: true,
  requestRole: "planner",
  answers: { archived: 403, "archived above": 403 },
} as const;

const EVERYBODY = ["administrator", "user", "member of 5,000", "member of the largest"] as const;
const MEMBERS = ["administrator", "member of the largest"] as const;
const ORDERS = [
  "updated_at",
  "due_date",
  "weight",
  "title",
  "relative_position",
  "label_priority",
  "milestone_due",
].flatMap((order) => [`order_by=${order}&sort=asc`, `order_by=${order}&sort=desc`]);
/** Every filter of a project's or group's list. */
const filtersFor = (author: number | undefined) => [
  ...["", "state=closed", "labels=Backend,Bug", "labels=None", "labels=Any", "not[labels]=Backend", "milestone=None"],
  ...["milestone=Sprint 1", "milestone=Release 1", "milestone_id=Any", "not[milestone]=Sprint 1"],
  ...[any("milestone_id=Started"), any("milestone_id=Upcoming")],
  ...["assignee_id=None", "assignee_id=Any", "confidential=true", "issue_type=incident", "weight=3", "weight=None"],
  ...["due_date=overdue", "due_date=any", "created_before=2021-07-01T00:00:00Z", "scope=created_by_me"].map(any),
  ...[any(`author_id=${author}`), any(`assignee_id=${author}`), any("labels=Blocked&state=closed")],
  ...[none("search=nothing"), common("search=anchor"), common("search=anchor&in=title"), none("epic_id=1")],
];
/** Filters that many issues, few and none meet. */
const COUNTED = ["labels=Backend", "labels=Backend,Bug&weight=3", "labels=None&search=anchor", "search=nothing"];
const EVERYWHERE = ["scope=all&labels=Backend", "scope=all&search=anchor", "scope=all&state=closed&order_by=weight"];

const issueRow = (project_id: number, author_id: number | null) => ({
  ...{ project_id, author_id, iid: randomInt(1, 2 ** 30), title: word() },
  ...{ state: "opened", issue_type: "issue", confidential: false },
  ...{ created_at: new Date().toISOString(), updated_at: new Date().toISOString() },
});

/** A public project without members. */
const publicProject = async ({ db, group, once }: FixtureContext) =>
  once("public project of issues", async () =>
    insertForId(db, "projects", project(await group("of issues"), { visibility: "public" })),
  );

export const contract: Contract = {
  lines: {
    "GET /issues": line(401, 200, 200, READ),
    "GET /issues/:id": line(401, 403, FOUND, READ, { object: "issue of a user" }),
    "GET /issues_statistics": line(401, 200, 200, READ),
    "GET /groups/:id/issues": inGroup("viewer", 200, READ, { holds: "issue of a project inside" }),
    "GET /groups/:id/issues_statistics": inGroup("viewer", 200, READ),
    "GET /projects/:id/issues": inProject("viewer", 200, READ, { holds: "issue" }),
    "GET /projects/:id/issues_statistics": inProject("viewer", 200, READ),
    "GET /projects/:id/issues/:issue_iid": inProject("viewer", 200, READ, ISSUE),
    "GET /projects/:id/issues/:issue_iid/participants": inProject("viewer", 200, READ, ISSUE),
    "POST /projects/:id/issues": inProject("viewer", 201, WRITE, {
      ...{ signedIn: true, unaudited: "by oneself", send: "title=*", answers: MANAGED.answers },
    }),
    "PUT /projects/:id/issues/:issue_iid": inProject("viewer", 200, WRITE, {
      ...{ ...MANAGED, unaudited: "by oneself", send: "title=*" },
    }),
    "PUT /projects/:id/issues/:issue_iid/reorder": inProject("viewer", 200, WRITE, {
      ...{ ...MANAGED, unaudited: "by oneself", send: "move_after_id={issue}" },
    }),
    // Only administrators manage the issues of both projects.
    "POST /projects/:id/issues/:issue_iid/move": {
      ...inProject("viewer", 201, WRITE, { ...MANAGED, send: "to_project_id={issues_project}" }),
      user: 403,
    },
    "DELETE /projects/:id/issues/:issue_iid": inProject("planner", 204, WRITE, {
      ...{ child: "issue", except: ["reporter", "developer", "maintainer"], answers: MANAGED.answers },
    }),
  },
  tables: ["issues", "issue_assignees", "issue_counters"],
  differing: ["iid", "closed_at", "relative_position"],
  unrepeatable: { "POST /projects/:id/issues/:issue_iid/move": "the first issue of a project creates its counter" },
  plans: {
    // The project with the most issues, the largest group, and an author.
    sample: `select i.project_id as project, i.author_id as author, min(i.iid) as iid, min(i.id) as id,
        (select min(id) from namespaces where path = 'harbour-works' and parent_id is null) as "group"
      from issues i where i.project_id = (select project_id from issues group by 1 order by count(*) desc, 1 limit 1)
      group by 1, 2 order by count(*) desc, 2 limit 1`,
    requests: ({ project, author, iid, group }) => [
      ...list(`/projects/${project}/issues`, { filters: ["", "state=opened", unskippable("labels=Backend")] }),
      ...list(`/projects/${project}/issues`, { filters: filtersFor(author), places: FIRST }),
      ...list(`/projects/${project}/issues`, { orders: ORDERS, places: FIRST }),
      ...list(`/projects/${project}/issues/${iid}/participants`, { places: FIRST }),
      ...list(`/projects/${project}/issues_statistics`, { places: FIRST }),
      ...[`/projects/${project}/issues_statistics`, `/groups/${group}/issues_statistics`, "/issues_statistics"].flatMap(
        (path) => list(path, { filters: COUNTED.map((filter) => costly(`scope=all&${filter}`)), places: FIRST }),
      ),
      ...list(`/groups/${group}/issues`, { callers: MEMBERS, filters: [unskippable("")] }),
      ...list(`/groups/${group}/issues`, {
        filters: filtersFor(author),
        orders: ["", "order_by=due_date"],
        places: FIRST,
      }),
      ...list("/issues", { callers: EVERYBODY, filters: [any(""), any("scope=assigned_to_me")] }),
      ...list("/issues", { callers: EVERYBODY, filters: [common("scope=all")], places: FIRST }),
      ...list("/issues", { callers: EVERYBODY, filters: EVERYWHERE.map((filter) => common(filter)), places: FIRST }),
    ],
    indexes: ({ project }) => ({
      issues_of_project_by_created_at: `/projects/${project}/issues?state=opened`,
      issues_of_project_by_title: `/projects/${project}/issues?order_by=title&sort=asc`,
    }),
  },
  values: {
    issues_project: async (context) => String(await publicProject(context)),
    issue: (context) =>
      context.once("issue of a public project", async () =>
        String(await insertForId(context.db, "issues", issueRow(await publicProject(context), null))),
      ),
  },
  fixtures: {
    issue: {
      parents: ["project"],
      async make({ db, person }, parents) {
        const rows = parents.map(({ id }) => issueRow(id, null));
        const ids = await insertForIds(db, "issues", rows, "title");
        const people = await Promise.all(
          ["first", "second", "third", "fourth"].map((name) => person(`assignee ${name}`)),
        );
        const assignees = ids.flatMap((issue_id) => people.map((user_id) => ({ issue_id, user_id })));
        await insert(db, "issue_assignees", assignees);
        return rows.map(({ iid }) => iid);
      },
    },
    "issue of a project inside": {
      parents: ["group"],
      async make({ db }, parents) {
        const projects = await insertForIds(
          db,
          "projects",
          parents.map(({ id }) => project(id, { visibility: "private" })),
        );
        const rows = projects.map((id) => issueRow(id, null));
        await insert(db, "issues", rows);
        return rows.map(({ iid }) => iid);
      },
    },
    "issue of a user": {
      parents: ["user"],
      async make({ db }, parents) {
        const projects = await personalProjects(db, parents);
        return insertForIds(
          db,
          "issues",
          parents.map(({ id }, index) => issueRow(projects[index] ?? 0, id)),
          "title",
        );
      },
    },
  },
};
