import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { insertForId, insertForIds, project, word } from "#test/matrix/rows.ts";
import { any, FIRST, list } from "#test/plans/request.ts";

const MADE_OWN = [201, 404, 404] as const;
const MARK = { signedIn: true, unaudited: "by oneself" } as const;

/** Inserts a to-do for each user, each about an issue of its own in a public project. */
async function insertTodos({ db, group, once }: FixtureContext, parents: readonly Parent[]): Promise<number[]> {
  const project_id = await once("project of to-dos", async () =>
    insertForId(db, "projects", project(await group("of to-dos"), { visibility: "public" })),
  );
  const times = { created_at: new Date().toISOString(), updated_at: new Date().toISOString() };
  const issues = await insertForIds(
    db,
    "issues",
    parents.map(() => ({
      ...{ project_id, iid: randomInt(1, 2 ** 30), title: word(), state: "opened" },
      ...{ issue_type: "issue", confidential: false, ...times },
    })),
    "title",
  );
  const rows = parents.map(({ id }, index) => ({
    ...{ user_id: id, author_id: id, issue_id: issues[index], epic_id: null, action: "marked", state: "pending" },
    ...times,
  }));
  return insertForIds(db, "todos", rows, "issue_id");
}

export const contract: Contract = {
  lines: {
    "GET /todos": line(401, 200, 200, READ),
    "POST /todos/:id/mark_as_done": line(401, MADE_OWN, MADE_OWN, WRITE, { object: "todo", unaudited: "by oneself" }),
    "POST /todos/mark_as_done": line(401, 204, 204, WRITE, { unaudited: "by oneself" }),
    "POST /projects/:id/issues/:issue_iid/todo": inProject("viewer", 201, WRITE, { ...MARK, child: "issue" }),
    "POST /groups/:id/epics/:epic_iid/todo": inGroup("viewer", 201, WRITE, { ...MARK, inner: true, child: "epic" }),
  },
  unrepeatable: { "POST /todos/mark_as_done": "the second time nothing is pending" },
  tables: ["todos"],
  fixtures: { todo: { parents: ["user"], make: insertTodos } },
  plans: {
    sample: `select min(i.project_id) as project, min(t.author_id) as author,
        (select min(id) from namespaces where path = 'harbour-works' and parent_id is null) as "group"
      from todos t join issues i on i.id = t.issue_id`,
    requests: ({ project, author, group }) => [
      ...list("/todos", { filters: ["type=Issue"] }),
      ...list("/todos", {
        filters: [
          ...["type=Epic", "type=Issue&state=done", "type=Issue&action=mentioned"].map(any),
          ...[`project_id=${project}`, `type=Issue&group_id=${group}`, `type=Issue&author_id=${author}`].map(any),
        ],
        places: FIRST,
      }),
    ],
    indexes: () => ({ todos_of_user: "/todos?type=Issue" }),
  },
};
