import { parseArgs } from "node:util";
import { type RunningServer, startServer } from "#test/support/server.ts";

/** A token that one web process ends is refused by another at once, however it ends and however busy it was. */
const LANES = 4;
/** Uses of the token that are under way in the other process while it ends. */
const UNDER_WAY = 3;

const { values } = parseArgs({ options: { times: { type: "string", default: "100" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times must be a whole number from 1");

interface Token {
  readonly id: number;
  readonly token: string;
}

const one = await startServer();
const other = await startServer({ FAIRLEAD_DATABASE_URL: one.databaseUrl });
const problems: string[] = [];
let passed = 0;
let begun = 0;
try {
  await Promise.all(Array.from({ length: LANES }, runLane));
} finally {
  await other.stop();
  await one.stop();
}

for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(`revocation: ${passed} passed, ${problems.length} failed`);
process.exit(passed === times && problems.length === 0 ? 0 : 1);

async function runLane() {
  while (begun < times) {
    const number = begun++;
    const problem = await tryOnce(number).catch((error: unknown) => String(error));
    if (problem === undefined) passed++;
    else problems.push(`${number}: ${problem}`);
  }
}

/** The two processes take turns, and so do the ways in which a token ends. */
async function tryOnce(number: number): Promise<string | undefined> {
  const [ends, refuses] = number % 2 === 0 ? [one, other] : [other, one];
  const made = await call(ends, "POST", "/users/1/personal_access_tokens", one.token, {
    name: "test",
    scopes: ["api"],
  });
  if (made.status !== 201) return `the token was not made: ${made.status}`;
  const { id, token } = made.body as Token;
  const before = await call(refuses, "GET", "/user", token);
  if (before.status !== 200) return `the token did not work: ${before.status}`;

  const uses = Array.from({ length: UNDER_WAY }, () => call(refuses, "GET", "/user", token));
  const [method, path, as] = waysToEnd(id, token)[number % 3] ?? [];
  const ended = await call(ends, method ?? "", path ?? "", as ?? "");
  const after = await call(refuses, "GET", "/user", token);
  await Promise.all(uses);
  if (ended.status >= 300) return `${method} ${path} answered ${ended.status}`;
  return after.status === 401 ? undefined : `after ${method} ${path} the other process answered ${after.status}`;
}

function waysToEnd(id: number, token: string): [method: string, path: string, as: string][] {
  return [
    ["DELETE", `/personal_access_tokens/${id}`, one.token],
    ["DELETE", "/personal_access_tokens/self", token],
    ["POST", `/personal_access_tokens/${id}/rotate`, one.token],
  ];
}

async function call({ url }: RunningServer, method: string, path: string, token: string, body?: object) {
  const response = await fetch(`${url}/api/v4${path}`, {
    method,
    headers: { "private-token": token, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
}
