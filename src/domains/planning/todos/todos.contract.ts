import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, inProject, line, READ, WRITE } from "#test/matrix/line.ts";
import { insertForId, insertForIds, project, word } from "#test/matrix/rows.ts";
import { any, FIRST, list } from "#test/plans/request.ts";

const MADE_OWN = [201, 404, 404] as const;
const MARK = { signedIn: true, unaudited: true } as const;

const now = () => new Date().toISOString();

/** An issue of a public project. */
const issue = ({ db, group, once }: FixtureContext) =>
  once("issue of to-dos", async () =>
    insertForId(db, "issues", {
      ...{ project_id: await insertForId(db, "projects", project(await group("of to-dos"), { visibility: "public" })) },
      ...{ iid: randomInt(1, 2 ** 30), title: word(), state: "opened", issue_type: "issue", confidential: false },
      ...{ created_at: now(), updated_at: now() },
    }),
  );

async function insertTodos(context: FixtureContext, parents: readonly Parent[]): Promise<number[]> {
  const issue_id = await issue(context);
  // Each has another time, by which its row is recognised.
  const at = Date.now() - randomInt(10 ** 9, 10 ** 10);
  const rows = parents.map(({ id }, index) => ({
    ...{ user_id: id, author_id: id, issue_id, epic_id: null, action: "marked", state: "done" },
    ...{ created_at: new Date(at - index * 1000).toISOString(), updated_at: now() },
  }));
  return insertForIds(context.db, "todos", rows, "created_at");
}

export const contract: Contract = {
  lines: {
    "GET /todos": line(401, 200, 200, READ),
    "POST /todos/:id/mark_as_done": line(401, MADE_OWN, MADE_OWN, WRITE, { object: "todo", unaudited: true }),
    "POST /todos/mark_as_done": line(401, 204, 204, WRITE, { unaudited: true }),
    "POST /projects/:id/issues/:issue_iid/todo": inProject("viewer", 201, WRITE, { ...MARK, child: "issue" }),
    "POST /groups/:id/epics/:epic_iid/todo": inGroup("viewer", 201, WRITE, { ...MARK, inner: true, child: "epic" }),
  },
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
