import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import type { Client as Connection } from "pg";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { ZERO_ID } from "#git/refs.ts";
import { gitOutput } from "#test/support/git.ts";
import type { SshTools } from "#test/support/ssh.ts";
import { until } from "#test/support/until.ts";
import type { RefUpdate, PushFixture } from "./held-fixture.ts";

/** The answer to a push. */
export interface PushResult {
  readonly done: boolean;
  readonly output: string;
}

/** Runs a statement in the transaction that holds the push back. */
export type Query = (statement: string, values: readonly unknown[]) => Promise<unknown>;

/** A push that waits before its end. */
interface HeldPush {
  readonly query: Query;
  /** Lets the push continue to its end. */
  release(): Promise<PushResult>;
}

export type Hold = (fixture: PushFixture, update: RefUpdate) => Promise<HeldPush>;

const BRANCH = "refs/heads/held";
/** The end of a push that is held back: the checksum of its pack. */
const TAIL_BYTES = 20;

/** The bytes of a push, split before its end. */
export async function pushOf(
  { client, main }: Pick<PushFixture, "client" | "main">,
  update: RefUpdate,
): Promise<{ ref: string; head: Buffer; tail: Buffer }> {
  const [id = ""] = await client.commitsOn("held", [undefined]);
  const [ref, oldId, newId] = (
    {
      "new branch": [BRANCH, ZERO_ID, id],
      "forced main": ["refs/heads/main", main, id],
      "forced branch": ["refs/heads/side", main, id],
      "deleted main": ["refs/heads/main", main, ZERO_ID],
    } as const
  )[update];
  const list = [packet(`${oldId} ${newId} ${ref}\0 report-status side-band-64k`)];
  // A deletion needs a second ref, whose objects can be held back.
  if (newId === ZERO_ID) list.push(packet(`${ZERO_ID} ${id} ${BRANCH}`));
  const packed = ["pack-objects", "--revs", "--quiet", "sent"];
  const name = await gitOutput(packed, { cwd: client.directory, input: `${id}\n` });
  const all = Buffer.concat([...list, FLUSH, await readFile(join(client.directory, `sent-${name}.pack`))]);
  return { ref, head: all.subarray(0, -TAIL_BYTES), tail: all.subarray(-TAIL_BYTES) };
}

export const resultOf = (answer: Buffer, ref: string): PushResult => {
  const output = answer.toString("latin1");
  return { done: output.includes(`ok ${ref}\n`), output };
};

const untilIntent = ({ installation, project }: PushFixture) =>
  until("the push has begun", async () => {
    const found = await installation.query("select from pushes where project_id = $1", [project.id]);
    return found.length > 0;
  });

/** A push over HTTP whose last bytes are held back. */
export const overHttp: Hold = async (fixture, update) => {
  const { ref, head, tail } = await pushOf(fixture, update);
  const sent = request(`${fixture.installation.server().url}/${fixture.project.path}.git/git-receive-pack`, {
    method: "POST",
    agent: false,
    headers: { ...fixture.headers, "content-type": "application/x-git-receive-pack-request" },
  });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => {});
  sent.write(head);
  await untilIntent(fixture);
  return {
    query: fixture.installation.query as Query,
    async release() {
      sent.end(tail);
      const [answer] = await answered;
      return resultOf(await buffer(answer), ref);
    },
  };
};

/** A push over SSH whose last bytes are held back. */
export const overSsh =
  (tools: SshTools): Hold =>
  async (fixture, update) => {
    if (!fixture.key) throw new Error("there is no key");
    const { ref, head, tail } = await pushOf(fixture, update);
    const command = `git-receive-pack '${fixture.project.path}.git'`;
    const args = [...tools.withKey(fixture.key), `-p${fixture.installation.sshPort}`, "git@127.0.0.1", command];
    const ssh = spawn("ssh", args, { stdio: "pipe" });
    ssh.stdin.on("error", () => {});
    const answered = buffer(ssh.stdout);
    const errors = text(ssh.stderr);
    ssh.stdin.write(head);
    await untilIntent(fixture);
    return {
      query: fixture.installation.query as Query,
      async release() {
        ssh.stdin.end(tail);
        const { done, output } = resultOf(await answered, ref);
        return { done, output: `${output}${await errors}` };
      },
    };
  };

/** The API request for a ref update. */
function requestOf(
  { project: { id } }: PushFixture,
  update: RefUpdate,
): { method: string; path: string; body: string } {
  const path = `/projects/${id}/repository`;
  if (update === "deleted main") return { method: "DELETE", path: `${path}/branches/main`, body: "" };
  const action = { action: "create", file_path: "held", content: "held" };
  const commit = { branch: "held", start_branch: "main", commit_message: "Held", actions: [action] };
  return { method: "POST", path: `${path}/commits`, body: JSON.stringify(commit) };
}

function requestApi({ installation, headers }: PushFixture, method: string, path: string) {
  const sent = request(`${installation.server().url}/api/v4${path}`, {
    method,
    agent: false,
    // A body without a length may be large, so it is read only after authorization.
    headers: { ...headers, ...(method === "POST" && { "content-type": "application/json" }) },
  });
  const answered = (async (): Promise<PushResult> => {
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const status = answer.statusCode ?? 0;
    return { done: status < 300, output: `${status} ${await text(answer)}` };
  })();
  answered.catch(() => {});
  return { sent: sent as Writable, answered };
}

/** A commit over the API whose body is held back; once the use of the token is recorded, the caller was authenticated. */
export const inBody: Hold = async (fixture, update) => {
  const { method, path, body } = requestOf(fixture, update);
  const { sent, answered } = requestApi(fixture, method, path);
  sent.write(body.slice(0, -1));
  const used = "select from personal_access_tokens where id = $1 and last_used_at is not null";
  await until(
    "the caller was authenticated",
    async () => (await fixture.installation.query(used, [fixture.tokenId])).length > 0,
  );
  return {
    query: fixture.installation.query as Query,
    release() {
      sent.end(body.slice(-1));
      return answered;
    },
  };
};

/** A change over the API that waits for a lock after its objects were written and before its refs change. */
export const beforeRefs: Hold = async (fixture, update) => {
  const connection = await fixture.installation.connect();
  await connection.query("begin");
  // Creating an intent locks the row of the project against deletion.
  await connection.query("select from projects where id = $1 for update", [fixture.project.id]);
  const { method, path, body } = requestOf(fixture, update);
  const { sent, answered } = requestApi(fixture, method, path);
  sent.end(body);
  await Promise.race([
    untilBlocked(fixture, connection, "%insert into pushes%"),
    answered.then(({ output }) => Promise.reject(new Error(output))),
  ]);
  return {
    query: (statement, values) => connection.query(statement, [...values]),
    async release() {
      await connection.query("commit");
      await connection.end();
      return answered;
    },
  };
};

/** Waits until a statement like `pattern` waits for a lock of the connection. */
export async function untilBlocked({ installation }: PushFixture, connection: Connection, pattern: string) {
  const [{ pid } = { pid: 0 }] = (await connection.query<{ pid: number }>("select pg_backend_pid() as pid")).rows;
  const waiting = "select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)) and query like $2";
  await until(
    "a statement waits",
    async () => (await installation.query(waiting, [pid, pattern])).length > 0,
    20_000,
    5,
  );
}
