import { parseArgs } from "node:util";
import { Client } from "pg";
import { totpCode } from "#lib/totp.ts";
import { type RunningServer, startServer } from "#test/support/server.ts";

/** A credential that one web process ends is refused by another at once, however it ends and however busy it was. */
const LANES = 4;
/** Requests in progress in the other process while the credential ends. */
const CONCURRENT_USES = 3;
const PASSWORD = "Nine-Knots-And-A-Splice";

const { values } = parseArgs({ options: { times: { type: "string", default: "20" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times, of each way, must be a whole number from 1");

/** The credential of a caller: a token or a session. */
type Shown = Readonly<Record<string, string>>;

interface Person {
  readonly id: number;
  readonly username: string;
}

/** One way to lose a credential: how it is created, how it is ended, and the expected refusal. */
interface Way {
  readonly name: string;
  get(server: RunningServer, person: Person): Promise<Shown>;
  end(server: RunningServer, person: Person, shown: Shown): Promise<unknown>;
  readonly refused: number;
  again?(server: RunningServer, person: Person): Promise<unknown>;
}

const one = await startServer();
const other = await startServer({ FAIRLEAD_DATABASE_URL: one.databaseUrl });
const root: Shown = { "private-token": one.token };
const database = new Client(one.databaseUrl);
await database.connect();

const block = (server: RunningServer, { id }: Person) => call(server, "POST", `/users/${id}/block`, root);
const unblock = (server: RunningServer, { id }: Person) => call(server, "POST", `/users/${id}/unblock`, root);

const ways: readonly Way[] = [
  { name: "token revoked", get: newToken, end: (server, _, shown) => onToken(server, "DELETE", shown), refused: 401 },
  {
    name: "token revoked by itself",
    get: newToken,
    end: (server, _, shown) => call(server, "DELETE", "/personal_access_tokens/self", shown),
    refused: 401,
  },
  {
    name: "token rotated",
    get: newToken,
    end: (server, _, shown) => onToken(server, "POST", shown, "/rotate"),
    refused: 401,
  },
  { name: "token expired", get: newToken, end: (_, __, shown) => expire(shown), refused: 401 },
  { name: "token of a blocked user", get: newToken, end: block, refused: 403, again: unblock },
  {
    name: "session signed out",
    get: signIn,
    end: (server, _, shown) => call(server, "DELETE", "/session", shown),
    refused: 401,
  },
  { name: "session of a blocked user", get: signIn, end: block, refused: 401, again: unblock },
  {
    name: "session of a user whose second factor is removed",
    get: signInAndGuard,
    end: (server, { id }) => call(server, "PATCH", `/users/${id}/disable_two_factor`, root),
    refused: 401,
  },
];

const problems: string[] = [];
let passed = 0;
let begun = 0;
try {
  await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(lane)));
} finally {
  await database.end();
  await other.stop();
  await one.stop();
}

for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(`each of ${ways.length} ways ${times} times: ${ways.map(({ name }) => name).join(", ")}`);
console.log(`revocation: ${passed} passed, ${problems.length} failed`);
process.exit(passed === times * ways.length && problems.length === 0 ? 0 : 1);

async function runLane(lane: number) {
  const username = `person-${lane}`;
  const columns = { username, name: username, email: `${username}@example.com` };
  const made = await call(one, "POST", "/users", root, { ...columns, password: PASSWORD, skip_confirmation: true });
  const person = made.body as Person;
  while (begun < times * ways.length) {
    const number = begun++;
    const problem = await tryOnce(number, person).catch((error: unknown) => String(error));
    if (problem === undefined) passed++;
    else problems.push(`${number}: ${problem}`);
  }
}

/** The two processes take turns, and so do the ways. */
async function tryOnce(number: number, person: Person): Promise<string | undefined> {
  const { name, get, end, refused, again } = ways[number % ways.length] as Way;
  const turn = Math.floor(number / ways.length) % 2;
  const [ends, refuses] = turn === 0 ? [one, other] : [other, one];
  const shown = await get(ends, person);
  const before = await ask(refuses, "GET", "/user", shown);
  if (before.status !== 200) return `${name}: it did not work before: ${before.status}`;

  const uses = Array.from({ length: CONCURRENT_USES }, () => ask(refuses, "GET", "/user", shown));
  await end(ends, person, shown);
  const after = await ask(refuses, "GET", "/user", shown);
  await Promise.all(uses);
  await again?.(ends, person);
  return after.status === refused ? undefined : `${name}: the other process answered ${after.status}`;
}

async function newToken(server: RunningServer, { id }: Person): Promise<Shown> {
  const wanted = { name: "test", scopes: ["api"] };
  const { body } = await call(server, "POST", `/users/${id}/personal_access_tokens`, root, wanted);
  const made = body as { id: number; token: string };
  return { "private-token": made.token, "x-token-id": String(made.id) };
}

function onToken(server: RunningServer, method: string, shown: Shown, action = "") {
  return call(server, method, `/personal_access_tokens/${shown["x-token-id"]}${action}`, root);
}

function expire(shown: Shown) {
  const text = "update personal_access_tokens set expires_at = (now() at time zone 'UTC')::date where id = $1";
  return database.query(text, [shown["x-token-id"]]);
}

async function signIn(server: RunningServer, { username }: Person): Promise<Shown> {
  return sessionOf(await call(server, "POST", "/session", {}, { login: username, password: PASSWORD }));
}

/** A session whose user then enables a second factor, which gives it another secret. */
async function signInAndGuard(server: RunningServer, person: Person): Promise<Shown> {
  const shown = await signIn(server, person);
  const { body } = await call(server, "POST", "/user/two_factor", shown, { current_password: PASSWORD });
  const code = totpCode((body as { secret: string }).secret, Math.floor(Date.now() / 30_000));
  return sessionOf(await call(server, "PUT", "/user/two_factor", shown, { code }));
}

/** The headers that our own pages send with the session that a response created or renewed. */
function sessionOf({ headers }: { headers: Headers }): Shown {
  const [cookie = ""] = headers.getSetCookie().map((text) => text.split(";", 1)[0] ?? "");
  return { cookie, "x-csrf-token": headers.get("x-csrf-token") ?? "", "sec-fetch-site": "same-origin" };
}

/** Sends a request that must succeed. */
async function call(...asked: Parameters<typeof ask>) {
  const answer = await ask(...asked);
  if (answer.status >= 300) throw new Error(`${asked[1]} ${asked[2]} answered ${answer.status} ${answer.text}`);
  return { ...answer, body: answer.text === "" ? undefined : (JSON.parse(answer.text) as unknown) };
}

async function ask({ url }: RunningServer, method: string, path: string, shown: Shown, body?: object) {
  const response = await fetch(`${url}/api/v4${path}`, {
    method,
    headers: { ...shown, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
