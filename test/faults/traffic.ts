import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, Web } from "./cluster.ts";
import { quickJob } from "./jobs.ts";
import { type Journal, type Kind, nextName } from "./journal.ts";
import { addJob, addRolledBackJob } from "./queueing.ts";

const LANES = 4;
/** Every request is answered within this time, whatever happens to PostgreSQL. */
export const ANSWER_TIMEOUT_MS = 20_000;
/** The pause of a refused caller. */
const RETRY_DELAY_MS = 25;
/** Every fifth job is added by a transaction that is rolled back. */
const ROLLBACK_INTERVAL = 5;

export interface Caller {
  /** Sends a write and records its outcome in the journal. */
  write(kind: Kind, name: string, path: string, body: object): Promise<CreatedRow | undefined>;
  call(method: string, path: string, token: string, body?: object): Promise<Answer>;
}

interface CreatedRow {
  readonly id: number;
  readonly token?: string;
}

interface Answer {
  /** 0 without an answer. */
  readonly status: number;
  readonly body: unknown;
}

/** How a caller understands a status; a control may misunderstand it. */
export type StatusReader = (status: number) => "done" | "refused" | "unknown";
export const readStatus: StatusReader = (status) => (status === 0 ? "unknown" : status < 300 ? "done" : "refused");

export function callerOf({ url }: Web, admin: string, journal: Journal, read: StatusReader = readStatus): Caller {
  async function call(method: string, path: string, token: string, body?: object): Promise<Answer> {
    const answer = await send(method, path, token, body).catch((error: Error): Answer => {
      if (error.name === "TimeoutError") journal.problems.push(`${method} ${path} was never answered`);
      return { status: 0, body: undefined };
    });
    journal.answers.set(answer.status, (journal.answers.get(answer.status) ?? 0) + 1);
    return answer;
  }

  /** Reads the whole answer, since one that breaks off counts as none. */
  async function send(method: string, path: string, token: string, body?: object): Promise<Answer> {
    const response = await fetch(`${url}/api/v4${path}`, {
      method,
      headers: { "private-token": token, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  return {
    call,
    async write(kind, name, path, body) {
      const { status, body: created } = await call("POST", path, admin, body);
      const outcome = read(status);
      journal.writes.push({ kind, name, outcome });
      return outcome === "done" ? (created as CreatedRow | undefined) : undefined;
    },
  };
}

/** Runs `work` while callers write to these web processes and jobs are added. */
export async function underTraffic<T>(
  cluster: Cluster,
  webs: readonly Web[],
  journal: Journal,
  work: () => Promise<T>,
  read?: StatusReader,
): Promise<T> {
  const end = new AbortController();
  const writers = Array.from({ length: LANES }, async (_, lane) => {
    for (let turn = lane; !end.signal.aborted; turn++) {
      const web = webs[turn % webs.length];
      if (web && !(await runScenario(callerOf(web, cluster.admin, journal, read), journal)))
        await sleep(RETRY_DELAY_MS);
    }
  });
  const adder = async () => {
    for (let turn = 1; !end.signal.aborted; turn++) {
      await (turn % ROLLBACK_INTERVAL === 0 ? addRolledBackJob : addJob)(cluster, journal, quickJob);
      await sleep(RETRY_DELAY_MS);
    }
  };
  const all = [...writers, adder()];
  try {
    return await work();
  } finally {
    end.abort();
    await Promise.all(all);
  }
}

/** Returns false if a request was refused. */
const runScenario = async (caller: Caller, journal: Journal): Promise<boolean> =>
  (await userScenario(caller, journal)) && treeScenario(caller, journal);

/** Creates a user and a token, and revokes the token. */
async function userScenario({ write, call }: Caller, journal: Journal): Promise<boolean> {
  const name = nextName(journal);
  const user = await write("user", name, "/users", {
    username: name,
    name,
    email: `${name}@example.com`,
    force_random_password: true,
  });
  if (!user) return false;
  const created = await write("token", name, `/users/${user.id}/personal_access_tokens`, { name, scopes: ["api"] });
  if (created?.token === undefined) return false;

  const used = await call("GET", "/user", created.token);
  if (used.status === 401) journal.problems.push(`the token ${name} was acknowledged and is refused`);
  const ended = await call("DELETE", "/personal_access_tokens/self", created.token);
  if (ended.status !== 204) return false;
  journal.revoked.push(created.token);
  const again = await call("GET", "/user", created.token);
  if (again.status === 200) journal.problems.push(`the token ${name} was revoked and is accepted`);
  return true;
}

/** Creates a group with a subgroup and a project, and transfers the subgroup to the top level. */
async function treeScenario({ write }: Caller, journal: Journal): Promise<boolean> {
  const name = nextName(journal);
  const group = await write("group", name, "/groups", { name, path: name });
  if (!group) return false;
  const sub = `${name}-sub`;
  const below = await write("group", sub, "/groups", { name: sub, path: sub, parent_id: group.id });
  if (!below) return false;
  const project = await write("project", name, "/projects", { name, path: name, namespace_id: below.id });
  return project !== undefined && (await write("move", sub, `/groups/${below.id}/transfer`, {})) !== undefined;
}
