import assert from "node:assert/strict";
import type { Insertable } from "kysely";
import { type LEVELS, VISIBILITIES } from "#access/roles.ts";
import type { Database } from "#db/types.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import { type Reply, type TestUser, testApp } from "#test/support/app.ts";

/** A project in a group of its own, the path of its issues, and a member. */
export interface IssueProject {
  readonly id: number;
  readonly groupId: number;
  readonly issues: string;
  readonly user: TestUser;
}

type Columns = Partial<Insertable<Database["projects"]>>;

/** An application, and functions that create projects and issues in it. */
export async function issuesApp(databaseUrl?: string) {
  const app = await testApp(databaseUrl === undefined ? {} : { databaseUrl });
  const insert = rowInserter(app);

  async function project(role: keyof typeof LEVELS = "planner", columns: Columns = {}): Promise<IssueProject> {
    const user = await app.makeUser();
    const groupId = await insert.group();
    const id = await insert.project(groupId, columns);
    await insert.member(user, { project_id: id }, role);
    return { id, groupId, issues: `/projects/${id}/issues`, user };
  }

  const post = ({ issues }: IssueProject, payload: object, { token }: TestUser) => app.post(issues, { token, payload });

  return {
    app,
    insert,
    project,
    publicProject: (role?: keyof typeof LEVELS, columns: Columns = {}) =>
      project(role, { visibility: VISIBILITIES.public, ...columns }),
    async member({ id }: IssueProject, role: keyof typeof LEVELS) {
      const user = await app.makeUser();
      await insert.member(user, { project_id: id }, role);
      return user;
    },
    post,
    /** Creates an issue and returns it. */
    async create(at: IssueProject, payload: object = {}, user: TestUser = at.user) {
      return accepted(await post(at, { title: "Leak", ...payload }, user), 201);
    },
    put: ({ issues }: IssueProject, iid: number, payload: object, { token }: TestUser) =>
      app.put(`${issues}/${iid}`, { token, payload }),
    get: async (path: string, user?: TestUser) => accepted(await app.get(path, { token: user?.token }), 200),
    titles: async (path: string, user?: TestUser): Promise<string[]> =>
      accepted(await app.get(path, { token: user?.token }), 200).map(({ title }: { title: string }) => title),
  };
}

export type IssuesApp = Awaited<ReturnType<typeof issuesApp>>;

export function accepted({ status, text, body }: Reply, expected: number) {
  assert.equal(status, expected, text);
  return body;
}

export const ignoredIn = ({ headers }: Reply): string[] =>
  (headers["x-ignored-parameters"] ?? "").split(", ").toSorted();
