import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { authenticateJob } from "#access/authenticate.ts";
import type { Reauthenticate } from "#access/principal.ts";
import { LEVELS, type Role } from "#access/roles.ts";
import { projectRepository } from "#git/storages/storage.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { authorizeByPath } from "#domains/code/transport/owners.ts";
import { reauthorized } from "#domains/code/repository/reauthorize.ts";
import type { PushAccess } from "#domains/storage/pushes/access.ts";
import { testApp, type TestUser } from "./app.ts";
import { git, gitOutput, removeWorkingCopies, workingCopy } from "./git.ts";
import { softwareKey } from "./ssh.ts";
import { listen } from "./wire.ts";

export interface PushedProject {
  readonly id: number;
  readonly path: string;
  /** The directory of its repository. */
  readonly directory: string;
}

export type Pushing = Awaited<ReturnType<typeof pushingApp>>;

/** An application that listens, a user, and functions to push to projects and to inspect the result. */
export async function pushingApp(
  options: { readonly databaseUrl?: string; readonly env?: Record<string, string> } = {},
) {
  const app = await testApp(options);
  const port = await listen(app);
  const owner = await app.makeUser();
  const { write } = app.services.db;

  const address = ({ path }: PushedProject, { token }: TestUser) => `http://any:${token}@127.0.0.1:${port}/${path}.git`;

  return {
    app,
    owner,
    port,
    address,

    async project(): Promise<PushedProject> {
      const name = `p-${randomUUID().slice(0, 8)}`;
      const { body } = await app.post("/projects", { token: owner.token, payload: { name } });
      const directory = join(app.services.config.dataDir, "repositories", `${projectRepository(body.id)}.git`);
      return { id: body.id, path: body.path_with_namespace, directory };
    },

    async member({ id }: PushedProject, role: Role): Promise<TestUser> {
      const user = await app.makeUser();
      const payload = { user_id: user.id, access_level: LEVELS[role] };
      await app.post(`/projects/${id}/members`, { token: owner.token, payload });
      return user;
    },

    push: (cwd: string, project: PushedProject, user: TestUser, ...what: string[]) =>
      git(["push", address(project, user), ...what], { cwd }),

    /** The permission of a user to push, for functions that are called without HTTP. */
    async open({ id }: TestUser, { path }: PushedProject, by?: Reauthenticate): Promise<PushAccess> {
      const { services } = app;
      const authenticated = () => authenticateJob(services.db, id);
      const access = await authorizeByPath(services, await authenticated(), path, "push", BACKGROUND);
      return reauthorized(services, access, by ?? authenticated);
    },

    /** The same for a deploy key that the owner adds to the project. */
    async openByKey({ id, path }: PushedProject): Promise<PushAccess> {
      const payload = { title: "Robot", key: softwareKey().line, can_push: true };
      const { body } = await app.post(`/projects/${id}/deploy_keys`, { token: owner.token, payload });
      const key = { id: body.id as number, title: "Robot", user_id: owner.id };
      const principal = { kind: "deploy key", key } as const;
      const access = await authorizeByPath(app.services, principal, path, "push", BACKGROUND);
      return reauthorized(app.services, access, () => Promise.resolve(principal));
    },

    /** The push events of a project in order. */
    async events({ id }: PushedProject) {
      const { rows } = await sql<Record<string, unknown>>`
        select author_id, key_id, push_action, ref_type, ref, commit_from, commit_to, commit_count, commit_title, ref_count
        from events where project_id = ${id} and action = 5 order by events.id`.execute(write);
      return rows;
    },

    intents: ({ id }: PushedProject) =>
      write.selectFrom("pushes").selectAll().where("project_id", "=", id).orderBy("id").execute(),

    /** The commit of a ref in the stored repository, or an empty string. */
    async refAt({ directory }: PushedProject, ref: string): Promise<string> {
      return (await git(["rev-parse", "--verify", "--quiet", ref], { cwd: directory })).stdout.trim();
    },

    async close() {
      await app.close();
      await removeWorkingCopies();
    },
  };
}

/** Creates a commit in a working copy and returns its id. */
export async function commit(cwd: string, message = "Go on"): Promise<string> {
  await writeFile(join(cwd, "log"), randomUUID());
  await gitOutput(["add", "."], { cwd });
  await gitOutput(["commit", "--quiet", `--message=${message}`], { cwd });
  return gitOutput(["rev-parse", "HEAD"], { cwd });
}

/** A project to which one commit on `main` was pushed, and the working copy. */
export async function pushedProject({ project, push, owner }: Pushing) {
  const made = await project();
  const copy = await workingCopy();
  const { code, stderr } = await push(copy, made, owner, "main");
  if (code !== 0) throw new Error(stderr);
  return { project: made, copy, first: await gitOutput(["rev-parse", "main"], { cwd: copy }) };
}

/** The pack that git would send: everything reachable from one commit and not from another. */
export async function packOf(cwd: string, id: string, without?: string): Promise<Buffer> {
  const input = without === undefined ? `${id}\n` : `${id}\n^${without}\n`;
  const name = await gitOutput(["pack-objects", "--revs", "--quiet", ".git/sent"], { cwd, input });
  return readFile(join(cwd, `.git/sent-${name}.pack`));
}
