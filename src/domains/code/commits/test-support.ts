import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { projectRepository } from "#git/storages/storage.ts";
import type { Reply, TestApp, TestUser } from "#test/support/app.ts";
import { git, gitOutput } from "#test/support/git.ts";

/** Creates a project with an owner, a Developer and a Reporter; returns functions to use its API and its repository. */
export async function testRepository(app: TestApp, payload: object = {}) {
  const [owner, developer, reporter] = [await app.makeUser(), await app.makeUser(), await app.makeUser()];
  const made = await app.post("/projects", { token: owner.token, payload: { name: `p-${randomUUID()}`, ...payload } });
  assert.equal(made.status, 201, made.text);
  const { id, path_with_namespace: path } = made.body as { id: number; path_with_namespace: string };
  const members = [
    [developer, 30],
    [reporter, 20],
  ] as const;
  for (const [{ id: user_id }, access_level] of members) {
    const added = await app.post(`/projects/${id}/members`, { token: owner.token, payload: { user_id, access_level } });
    assert.equal(added.status, 201);
  }
  const directory = join(app.services.config.dataDir, "repositories", `${projectRepository(id)}.git`);
  const base = `/projects/${id}/repository`;
  const call = (
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    payload: object = {},
    user: TestUser = developer,
  ) => app.call(method, `${base}${path}`, { token: user.token, ...(method === "GET" ? {} : { payload }) });

  return {
    ...{ id, path, base, directory, owner, developer, reporter, call },

    /** Runs git in the repository. */
    ask: (...args: string[]) => gitOutput(args, { cwd: directory }),

    commit: (payload: object, user: TestUser = developer) =>
      call("POST", "/commits", { branch: "main", commit_message: "Work", ...payload }, user),

    /** Commits new files and returns the id of the commit. */
    async put(files: Readonly<Record<string, string>>, more: object = {}): Promise<string> {
      const actions = Object.entries(files).map(([file_path, content]) => ({ action: "create", file_path, content }));
      const answer = await call("POST", "/commits", { branch: "main", commit_message: "Put", actions, ...more });
      assert.equal(answer.status, 201, answer.text);
      return answer.body.id as string;
    },

    async assertSound() {
      const { code, stdout, stderr } = await git(["fsck", "--full", "--strict", "--no-dangling"], { cwd: directory });
      assert.deepEqual([code, stdout, stderr.replaceAll(/notice: .*\n/g, "")], [0, "", ""]);
    },

    events: () =>
      app.services.db.write
        .selectFrom("events")
        .select(["push_action", "ref_type", "ref", "commit_from", "commit_to", "commit_count", "author_id"])
        .where("project_id", "=", id)
        .where("push_action", "is not", null)
        .orderBy("id")
        .execute(),

    audited: ({ headers }: Reply) =>
      app.services.db.write
        .selectFrom("audit_events")
        .select(["event", "actor_id", "entity_type", "entity_id", "details"])
        .where("request_id", "=", headers["x-request-id"] ?? "")
        .execute(),
  };
}

export type TestRepository = Awaited<ReturnType<typeof testRepository>>;

/** The status and the message of a refusal. */
export const messageOf = ({ status, body, text }: Reply) => [status, body?.message ?? body?.error ?? text];
