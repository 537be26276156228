import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type RunningServer, startServer } from "#test/support/server.ts";

/**
 * Many callers rotate one token at the same moment while a web process is killed: one token is valid afterwards, and
 * callers with an idempotency key get its value, however often they have to repeat the request.
 */
const CALLERS = 50;
/** The maximum head start of the caller with the key, and the time within which the process is killed then. */
const MAX_HEAD_START_MS = 40;
const MAX_KILL_DELAY_MS = 40;
const MAX_ATTEMPTS = 100;

const { values } = parseArgs({ options: { times: { type: "string", default: "20" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times must be a whole number from 1");

interface Token {
  readonly id: number;
  readonly token: string;
}

interface Answer {
  /** 0 if there was none. */
  readonly status: number;
  readonly body: Token | undefined;
}

// Both processes use the same sealing key.
const dataDir = await mkdtemp(join(tmpdir(), "fairlead-rotation-"));
const first = await startServer({ FAIRLEAD_DATA_DIR: dataDir });
const env = { FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_DATABASE_URL: first.databaseUrl, FAIRLEAD_ROOT_TOKEN: first.token };
const servers: [RunningServer, RunningServer] = [first, await startServer(env)];
const problems: string[] = [];
let won = 0;
let repeated = 0;
try {
  for (let round = 0; round < times; round++) {
    const problem = await rotateAtOnce(round).catch((error: unknown) => String(error));
    if (problem !== undefined) problems.push(`${round}: ${problem}`);
  }
} finally {
  for (const server of servers) await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}

for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(`whoever had the key won ${won} times of ${times} and had to ask again ${repeated} times`);
console.log(`rotation: ${times - problems.length} passed, ${problems.length} failed`);
process.exit(problems.length === 0 ? 0 : 1);

/** Alternately one caller has a key, or all have the same. */
async function rotateAtOnce(round: number): Promise<string | undefined> {
  const name = `rotation ${randomUUID()}`;
  const made = await call(servers[0], "POST", "/users/1/personal_access_tokens", first.token, {
    body: { name, scopes: ["api"] },
  });
  if (made.status !== 201 || !made.body) return `the token was not made: ${made.status}`;
  const { token } = made.body;
  const key = randomUUID();
  const allHaveKey = round % 2 === 1;
  const victim = round % 4 < 2 ? 0 : 1;

  const keyed = askUntilTold(token, key, victim);
  // The others start at random times, so that either may win.
  await sleep(Math.random() * MAX_HEAD_START_MS);
  const others = Array.from({ length: CALLERS - 1 }, (_, at) =>
    allHaveKey ? askUntilTold(token, key, at % 2) : rotate(servers[at % 2 === 0 ? 0 : 1], token),
  );
  await sleep(Math.random() * MAX_KILL_DELAY_MS);
  const killed = servers[victim];
  process.kill(killed.pid, "SIGKILL");
  const answers = [await keyed, ...(await Promise.all(others))];
  await killed.exited();
  await killed.stop();
  servers[victim] = await startServer(env);
  return problemOf(name, answers, allHaveKey);
}

async function problemOf(name: string, answers: readonly Answer[], allHaveKey: boolean): Promise<string | undefined> {
  const [keyed] = answers;
  const told = answers.flatMap(({ status, body }) => (status === 200 && body ? [body] : []));
  const values = new Set(told.map(({ token }) => token));
  const path = `/personal_access_tokens?user_id=1&state=active&search=${encodeURIComponent(`"${name}"`)}`;
  const live = (await call(servers[0], "GET", path, first.token)).body as unknown as Token[];
  if (live.length !== 1) return `${live.length} tokens live, ${told.length} callers were told of ${values.size}`;
  if (values.size > 1) return `callers were told of ${values.size} tokens`;
  const refused = answers.filter(({ status }) => status !== 200).map(({ status }) => status);
  if (allHaveKey && refused.length > 0) return `of those with the key some were answered ${refused.join(", ")}`;
  for (const { status } of answers) {
    if (![0, 200, 400, 401].includes(status)) return `a caller was answered ${status}`;
  }
  if (keyed?.status === 200) won++;
  for (const { id, token } of told) {
    if (id !== live[0]?.id) return `a caller was told of token ${id}, and ${live[0]?.id} lives`;
    for (const server of servers) {
      const { status } = await call(server, "GET", "/user", token);
      if (status !== 200) return `the token that lives was answered ${status}`;
    }
    break;
  }
  return undefined;
}

/** Sends the request to one process and then the other until a response is final. */
async function askUntilTold(token: string, key: string, from: number): Promise<Answer> {
  for (let tried = 0; tried < MAX_ATTEMPTS; tried++) {
    const answer = await rotate(servers[(from + tried) % 2 === 0 ? 0 : 1], token, key);
    if (answer.status !== 0 && answer.status < 500 && answer.status !== 409) return answer;
    repeated++;
    await sleep(20);
  }
  throw new Error("no answer, however often it was asked for");
}

function rotate(server: RunningServer, token: string, key?: string): Promise<Answer> {
  return call(server, "POST", "/personal_access_tokens/self/rotate", token, key === undefined ? {} : { key });
}

async function call(
  { url }: RunningServer,
  method: string,
  path: string,
  token: string,
  { body, key }: { body?: object; key?: string } = {},
): Promise<Answer> {
  try {
    const response = await fetch(`${url}/api/v4${path}`, {
      method,
      headers: {
        "private-token": token,
        ...(body && { "content-type": "application/json" }),
        ...(key !== undefined && { "idempotency-key": key }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Token };
  } catch {
    return { status: 0, body: undefined };
  }
}
