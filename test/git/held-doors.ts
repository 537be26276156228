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
import type { Wish, World } from "./held-world.ts";

/** What whoever pushed was told. */
export interface Told {
  readonly done: boolean;
  readonly said: string;
}

/** Runs a statement past the API, in whichever transaction holds the push back. */
export type Ask = (statement: string, values: readonly unknown[]) => Promise<unknown>;

/** A push that is under way and cannot end yet. */
interface HeldPush {
  readonly ask: Ask;
  /** Lets it go on to its end. */
  release(): Promise<Told>;
}

export type Hold = (world: World, wish: Wish) => Promise<HeldPush>;

const BRANCH = "refs/heads/held";
/** Bytes of a push that are held back: the checksum of its pack. */
const TAIL = 20;

/** What git would send, without its last bytes; a push that only deletes is held back in its list. */
async function pushOf({ client, main }: World, wish: Wish): Promise<{ ref: string; head: Buffer; tail: Buffer }> {
  const [id = ""] = await client.commitsOn("held", [undefined]);
  const [ref, oldId, newId] = (
    {
      "new branch": [BRANCH, ZERO_ID, id],
      "forced main": ["refs/heads/main", main, id],
      "forced branch": ["refs/heads/side", main, id],
      "deleted main": ["refs/heads/main", main, ZERO_ID],
    } as const
  )[wish];
  const list = [packet(`${oldId} ${newId} ${ref}\0 report-status side-band-64k`)];
  // With a second ref there are objects to wait for.
  if (newId === ZERO_ID) list.push(packet(`${ZERO_ID} ${id} ${BRANCH}`));
  const packed = ["pack-objects", "--revs", "--quiet", "sent"];
  const name = await gitOutput(packed, { cwd: client.directory, input: `${id}\n` });
  const all = Buffer.concat([...list, FLUSH, await readFile(join(client.directory, `sent-${name}.pack`))]);
  return { ref, head: all.subarray(0, -TAIL), tail: all.subarray(-TAIL) };
}

const toldBy = (answer: Buffer, ref: string): Told => {
  const said = answer.toString("latin1");
  return { done: said.includes(`ok ${ref}\n`), said };
};

const untilIntent = ({ installation, project }: World) =>
  until("the push has begun", async () => {
    const found = await installation.ask("select from pushes where project_id = $1", [project.id]);
    return found.length > 0;
  });

/** A push over HTTP whose last bytes do not come. */
export const overHttp: Hold = async (world, wish) => {
  const { ref, head, tail } = await pushOf(world, wish);
  const asked = request(`${world.installation.server().url}/${world.project.path}.git/git-receive-pack`, {
    method: "POST",
    agent: false,
    headers: { ...world.headers, "content-type": "application/x-git-receive-pack-request" },
  });
  const answered = once(asked, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => {});
  asked.write(head);
  await untilIntent(world);
  return {
    ask: world.installation.ask as Ask,
    async release() {
      asked.end(tail);
      const [answer] = await answered;
      return toldBy(await buffer(answer), ref);
    },
  };
};

/** The same over SSH. */
export const overSsh =
  (tools: SshTools): Hold =>
  async (world, wish) => {
    if (!world.key) throw new Error("there is no key");
    const { ref, head, tail } = await pushOf(world, wish);
    const command = `git-receive-pack '${world.project.path}.git'`;
    const args = [...tools.withKey(world.key), `-p${world.installation.sshPort}`, "git@127.0.0.1", command];
    const ssh = spawn("ssh", args, { stdio: "pipe" });
    ssh.stdin.on("error", () => {});
    const answered = buffer(ssh.stdout);
    const errors = text(ssh.stderr);
    ssh.stdin.write(head);
    await untilIntent(world);
    return {
      ask: world.installation.ask as Ask,
      async release() {
        ssh.stdin.end(tail);
        const { done, said } = toldBy(await answered, ref);
        return { done, said: `${said}${await errors}` };
      },
    };
  };

/** A request of the API that changes refs, and a body if it has one. */
function requestOf({ project: { id } }: World, wish: Wish): { method: string; path: string; body: string } {
  const path = `/projects/${id}/repository`;
  if (wish === "deleted main") return { method: "DELETE", path: `${path}/branches/main`, body: "" };
  const action = { action: "create", file_path: "held", content: "held" };
  const commit = { branch: "held", start_branch: "main", commit_message: "Held", actions: [action] };
  return { method: "POST", path: `${path}/commits`, body: JSON.stringify(commit) };
}

function askApi({ installation, headers }: World, method: string, path: string) {
  const asked = request(`${installation.server().url}/api/v4${path}`, {
    method,
    agent: false,
    // Without a length the body may be large, so that it is read only for somebody who may send it.
    headers: { ...headers, ...(method === "POST" && { "content-type": "application/json" }) },
  });
  const answered = (async (): Promise<Told> => {
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const status = answer.statusCode ?? 0;
    return { done: status < 300, said: `${status} ${await text(answer)}` };
  })();
  answered.catch(() => {});
  return { asked: asked as Writable, answered };
}

/** A commit over the API whose body does not end; its caller was let in once their token counts as used. */
export const inBody: Hold = async (world, wish) => {
  const { method, path, body } = requestOf(world, wish);
  const { asked, answered } = askApi(world, method, path);
  asked.write(body.slice(0, -1));
  const used = "select from personal_access_tokens where id = $1 and last_used_at is not null";
  await until("the caller was let in", async () => (await world.installation.ask(used, [world.tokenId])).length > 0);
  return {
    ask: world.installation.ask as Ask,
    release() {
      asked.end(body.slice(-1));
      return answered;
    },
  };
};

/** A change over the API that is held back by a lock, with its objects written and its refs not changed yet. */
export const beforeRefs: Hold = async (world, wish) => {
  const connection = await world.installation.connect();
  await connection.query("begin");
  // Whoever writes down what they are about to change needs the project to stay.
  await connection.query("select from projects where id = $1 for update", [world.project.id]);
  const { method, path, body } = requestOf(world, wish);
  const { asked, answered } = askApi(world, method, path);
  asked.end(body);
  await Promise.race([
    untilBlocked(world, connection, "insert into%pushes%"),
    answered.then(({ said }) => Promise.reject(new Error(said))),
  ]);
  return {
    ask: (statement, values) => connection.query(statement, [...values]),
    async release() {
      await connection.query("commit");
      await connection.end();
      return answered;
    },
  };
};

/** Waits until a statement of this form waits for a lock that the connection holds. */
export async function untilBlocked({ installation }: World, connection: Connection, form: string) {
  const [{ pid } = { pid: 0 }] = (await connection.query<{ pid: number }>("select pg_backend_pid() as pid")).rows;
  const waiting = "select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)) and query like $2";
  await until("a statement waits", async () => (await installation.ask(waiting, [pid, form])).length > 0, 20_000, 5);
}
