import { randomInt } from "node:crypto";
import type { Contract, FixtureContext } from "#test/contract.ts";
import { FOUND, inGroup, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { insert, insertForId, insertForIds, personalProjects, project, word } from "#test/matrix/rows.ts";

const ISSUE = { child: "issue" } as const;
/** A write of those who manage issues, in projects that are not archived. */
const MANAGED = {
  child: "issue",
  signedIn: true,
  requestRole: "planner",
  answers: { archived: 403, "archived above": 403 },
} as const;

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
    "GET /issues": [line(401, 200, 200, READ), line(200, 200, 200, READ, { send: "scope=all" })],
    "GET /issues/:id": line(401, 403, FOUND, READ, { object: "issue of a user" }),
    "GET /issues_statistics": [line(401, 200, 200, READ), line(200, 200, 200, READ, { send: "scope=all" })],
    "GET /groups/:id/issues": inGroup("viewer", 200, READ),
    "GET /groups/:id/issues_statistics": inGroup("viewer", 200, READ),
    "GET /projects/:id/issues": inProject("viewer", 200, READ, { holds: "issue" }),
    "GET /projects/:id/issues_statistics": inProject("viewer", 200, READ),
    "GET /projects/:id/issues/:issue_iid": inProject("viewer", 200, READ, ISSUE),
    "GET /projects/:id/issues/:issue_iid/participants": inProject("viewer", 200, READ, ISSUE),
    "POST /projects/:id/issues": inProject("viewer", 201, WRITE, {
      ...{ signedIn: true, unaudited: true, send: "title=*", answers: MANAGED.answers },
    }),
    "PUT /projects/:id/issues/:issue_iid": inProject("viewer", 200, WRITE, {
      ...{ ...MANAGED, unaudited: true, send: "title=*" },
    }),
    "PUT /projects/:id/issues/:issue_iid/reorder": inProject("viewer", 200, WRITE, {
      ...{ ...MANAGED, unaudited: true, send: "move_after_id={issue}" },
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
  differing: ["iid"],
  values: {
    issues_project: async (context) => String(await publicProject(context)),
    issue: async (context) =>
      String(await insertForId(context.db, "issues", issueRow(await publicProject(context), null))),
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
