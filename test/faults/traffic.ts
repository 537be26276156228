import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, Web } from "./cluster.ts";
import { quickJob } from "./jobs.ts";
import { type Journal, type Kind, nextName } from "./journal.ts";
import { addJob, addJobInVain } from "./queueing.ts";

const LANES = 4;
/** Nobody waits longer than this for an answer, whatever happens to PostgreSQL. */
export const ANSWER_LIMIT = 20_000;
/** A caller who was refused does not come back at once. */
const PAUSE = 25;
/** Every so many jobs one is added by a transaction that is rolled back. */
const IN_VAIN = 5;

export interface Caller {
  /** Asks for something that is written under `name`, and notes in the journal what came of it. */
  write(kind: Kind, name: string, path: string, body: object): Promise<Made | undefined>;
  call(method: string, path: string, token: string, body?: object): Promise<Answer>;
}

interface Made {
  readonly id: number;
  readonly token?: string;
}

interface Answer {
  /** 0 where none came. */
  readonly status: number;
  readonly body: unknown;
}

/** How a caller reads a status; a control may read it wrongly. */
export type Reading = (status: number) => "done" | "refused" | "unknown";
export const rightly: Reading = (status) => (status === 0 ? "unknown" : status < 300 ? "done" : "refused");

export function callerOf({ url }: Web, admin: string, journal: Journal, read: Reading = rightly): Caller {
  async function call(method: string, path: string, token: string, body?: object): Promise<Answer> {
    const answer = await ask(method, path, token, body).catch((error: Error): Answer => {
      if (error.name === "TimeoutError") journal.problems.push(`${method} ${path} was never answered`);
      return { status: 0, body: undefined };
    });
    journal.answers.set(answer.status, (journal.answers.get(answer.status) ?? 0) + 1);
    return answer;
  }

  /** An answer that breaks off tells no more than none at all, so the whole of it is read here. */
  async function ask(method: string, path: string, token: string, body?: object): Promise<Answer> {
    const response = await fetch(`${url}/api/v4${path}`, {
      method,
      headers: { "private-token": token, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_LIMIT),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  return {
    call,
    async write(kind, name, path, body) {
      const { status, body: made } = await call("POST", path, admin, body);
      const outcome = read(status);
      journal.writes.push({ kind, name, outcome });
      return outcome === "done" ? (made as Made | undefined) : undefined;
    },
  };
}

/** Callers who write without end to these web processes, and jobs that are added, while `work` is done to them. */
export async function underTraffic<T>(
  cluster: Cluster,
  webs: readonly Web[],
  journal: Journal,
  work: () => Promise<T>,
  read?: Reading,
): Promise<T> {
  const end = new AbortController();
  const writers = Array.from({ length: LANES }, async (_, lane) => {
    for (let turn = lane; !end.signal.aborted; turn++) {
      const web = webs[turn % webs.length];
      if (web && !(await story(callerOf(web, cluster.admin, journal, read), journal))) await sleep(PAUSE);
    }
  });
  const adder = async () => {
    for (let turn = 1; !end.signal.aborted; turn++) {
      await (turn % IN_VAIN === 0 ? addJobInVain : addJob)(cluster, journal, quickJob);
      await sleep(PAUSE);
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

/** False where something was refused on the way. */
const story = async (caller: Caller, journal: Journal): Promise<boolean> =>
  (await peopleStory(caller, journal)) && treeStory(caller, journal);

/** A user and a token come, and the token ends. */
async function peopleStory({ write, call }: Caller, journal: Journal): Promise<boolean> {
  const name = nextName(journal);
  const user = await write("user", name, "/users", {
    username: name,
    name,
    email: `${name}@example.com`,
    force_random_password: true,
  });
  if (!user) return false;
  const made = await write("token", name, `/users/${user.id}/personal_access_tokens`, { name, scopes: ["api"] });
  if (made?.token === undefined) return false;

  const used = await call("GET", "/user", made.token);
  if (used.status === 401) journal.problems.push(`the token ${name} was acknowledged and is refused`);
  const ended = await call("DELETE", "/personal_access_tokens/self", made.token);
  if (ended.status !== 204) return false;
  journal.revoked.push(made.token);
  const again = await call("GET", "/user", made.token);
  if (again.status === 200) journal.problems.push(`the token ${name} was revoked and is accepted`);
  return true;
}

/** A group with a subgroup and a project comes, and the subgroup moves to the top. */
async function treeStory({ write }: Caller, journal: Journal): Promise<boolean> {
  const name = nextName(journal);
  const group = await write("group", name, "/groups", { name, path: name });
  if (!group) return false;
  const sub = `${name}-sub`;
  const below = await write("group", sub, "/groups", { name: sub, path: sub, parent_id: group.id });
  if (!below) return false;
  const project = await write("project", name, "/projects", { name, path: name, namespace_id: below.id });
  return project !== undefined && (await write("move", sub, `/groups/${below.id}/transfer`, {})) !== undefined;
}
