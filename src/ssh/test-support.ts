import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { sql } from "kysely";
import ssh2, { type ClientChannel } from "ssh2";
import { readSshKey } from "#lib/ssh-keys.ts";
import { testApp, type TestUser } from "#test/support/app.ts";
import { git, gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { sshTools } from "#test/support/ssh.ts";
import { startSsh } from "./server.ts";
import type { SessionRates } from "./session-timeouts.ts";

// Random bytes do not compress.
const FAST = ["-c", "core.bigFileThreshold=1m", "-c", "core.compression=0"];
/** In the command of the git that sends a pack; the one that lists the refs has an option. */
export const SENDING = "upload-pack\0/";

export type SshApp = Awaited<ReturnType<typeof sshApp>>;

/** The application with SSH on a free port, and functions to create keys, users and projects. */
export async function sshApp(env: Record<string, string> = {}, rates?: SessionRates) {
  const app = await testApp({ env });
  const ssh = await startSsh(app.services, { host: "127.0.0.1", port: 0, ...(rates && { rates }) });
  const tools = await sshTools();
  const { write } = app.services.db;

  /** Inserts the row of a key. */
  async function addKey(line: string, columns: { user_id: number; kind?: "user" | "deploy"; [name: string]: unknown }) {
    const reading = readSshKey(line);
    if ("problem" in reading) throw new Error(reading.problem);
    const { id } = await write
      .insertInto("keys")
      .values({ title: "test", key: line, fingerprint_sha256: reading.key.fingerprintSha256, ...columns })
      .returning("id")
      .executeTakeFirstOrThrow();
    return id;
  }

  return {
    ...app,
    tools,
    port: ssh.port,
    connections: () => ssh.connections(),
    addKey,
    /** A user with an ED25519 key of their own. */
    async makeKeyedUser(columns: Parameters<typeof app.makeUser>[0] = {}) {
      const user = await app.makeUser(columns);
      const key = await tools.makeKey("ed25519");
      const keyId = await addKey(key.line, { user_id: user.id });
      return { ...user, key, keyId, options: tools.withKey(key) };
    },
    /** A deploy key that a project has enabled. */
    async makeDeployKey(user: TestUser, projectId: number, canPush: boolean) {
      const key = await tools.makeKey("ed25519");
      const keyId = await addKey(key.line, { user_id: user.id, kind: "deploy", title: "crane" });
      await write
        .insertInto("deploy_keys_projects")
        .values({ project_id: projectId, key_id: keyId, can_push: canPush })
        .execute();
      return { key, keyId, options: tools.withKey(key) };
    },
    async makeProject(user: TestUser): Promise<{ id: number; path: string; address: string }> {
      const { status, body, text } = await app.post("/projects", {
        token: user.token,
        payload: { name: `harbour-${randomUUID().slice(0, 8)}`, visibility: "private" },
      });
      if (status !== 201) throw new Error(text);
      const path = String(body.path_with_namespace);
      return { id: Number(body.id), path, address: `ssh://git@127.0.0.1:${ssh.port}/${path}.git` };
    },
    /** Pushes a first commit and returns the working copy. */
    async pushFirst(address: string, options: readonly string[]): Promise<string> {
      const cwd = await workingCopy();
      await gitOutput(["push", "--quiet", address, "main"], { cwd, env: tools.gitEnv(options) });
      return cwd;
    },
    push: (cwd: string, address: string, options: readonly string[], ...refs: string[]) =>
      git([...FAST, "push", "--quiet", address, ...refs], { cwd, env: tools.gitEnv(options) }),
    changeUser: (id: number, columns: { state?: "active" | "blocked" }) =>
      write.updateTable("users").set(columns).where("id", "=", id).execute(),
    expireKey: (id: number) =>
      sql`update keys set expires_at = now() - interval '1 second' where id = ${id}`.execute(write),
    removeKey: (id: number) => write.deleteFrom("keys").where("id", "=", id).execute(),
    async close() {
      await ssh.stop();
      await tools.close();
      await removeWorkingCopies();
      await app.close();
    },
  };
}

export async function commit(cwd: string, name: string, content: string | Buffer) {
  await writeFile(join(cwd, name), content);
  await gitOutput(["add", "."], { cwd });
  await gitOutput(["commit", "--quiet", `--message=${name}`], { cwd });
}

/** A project that no buffer can hold, and what a client sends to clone it. */
export async function largeProject(app: SshApp) {
  const user = await app.makeKeyedUser();
  const { address, path } = await app.makeProject(user);
  const copy = await app.pushFirst(address, user.options);
  await commit(copy, "large", randomBytes(60_000_000));
  const { code, stderr } = await app.push(copy, address, user.options, "main");
  if (code !== 0) throw new Error(stderr);
  const head = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
  // Requests a full clone.
  const line = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
  const ask = `${line(`want ${head} side-band-64k ofs-delta\n`)}0000${line("done\n")}`;
  return { user, command: `git-upload-pack '${path}.git'`, ask };
}

/** Clones a large project with a client that announces a window of a gigabyte and then receives nothing. */
export async function cloneUnreceived(app: SshApp, { user, command, ask }: Awaited<ReturnType<typeof largeProject>>) {
  const client = new ssh2.Client();
  client.connect({
    host: "127.0.0.1",
    port: app.port,
    username: "git",
    privateKey: await readFile(user.key.file, "utf8"),
  });
  await once(client, "ready");
  const { _protocol, _sock } = client as unknown as {
    _protocol: { channelWindowAdjust(id: number, bytes: number): void };
    _sock: Socket;
  };
  const channel = await new Promise<ClientChannel>((resolve, reject) =>
    client.exec(command, (error, made) => (error ? reject(error) : resolve(made))),
  );
  _protocol.channelWindowAdjust((channel as unknown as { outgoing: { id: number } }).outgoing.id, 2 ** 30);
  channel.write(ask);
  _sock.pause();
  return client;
}
