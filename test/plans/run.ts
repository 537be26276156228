import { parseArgs } from "node:util";
import pg from "pg";
import { administratorToken, seededEngine, userToken } from "#bench/support/seeded.ts";
import { testApp } from "#test/support/app.ts";
import { type Cost, explainer } from "./explain.ts";
import { type Recorded, recordStatements } from "./record.ts";
import { type Request, requests } from "./requests.ts";

/** Defects that must turn this suite red: an index that is gone, and what is slow without it. */
const PLANTS = [
  { sql: "drop index users_words", path: "search=zzzzzz" },
  { sql: "drop index users_by_name", path: "order_by=name&sort=asc&page=500" },
  { sql: "drop index users_by_username", path: "order_by=username" },
  { sql: "drop index users_username_taken", path: "username=nobody" },
];
const MOST_MS = 100;
const MOST_STATEMENTS = 8;
// A small table hides in time what a large one would show, so a missing index is also known by the rows that are read.
const MANY_READ = 0.6;

const { values } = parseArgs({ options: { users: { type: "string", default: "1000000" } } });
const users = Number(values.users);

await using engine = await seededEngine(users);
const client = new pg.Client(engine.url);
await client.connect();
const app = await testApp({ databaseUrl: engine.url });
const tokens = { anonymous: undefined, user: userToken(1), administrator: administratorToken };
const recorded: (Recorded & { request: string })[] = [];
const explain = explainer(client, MOST_MS);
let slowest: Cost | undefined;
let failed = 0;

function fail(text: string) {
  failed++;
  console.log(text);
}

async function ask({ caller, path }: Request) {
  const request = `${caller} ${path}`;
  const statements = await recordStatements(async () => {
    const { status, text } = await app.get(path, { token: tokens[caller] });
    if (status !== 200 && status !== 405) fail(`${request}: ${status} ${text}`);
  });
  if (statements.length > MOST_STATEMENTS) fail(`${request}: ${statements.length} statements`);
  recorded.push(...statements.map((statement) => ({ ...statement, request })));
}

/** Whether the suite would notice that an index is gone; the transaction puts it back. */
async function isSeen({ sql, path }: (typeof PLANTS)[number]): Promise<boolean> {
  const timed = explainer(client, MOST_MS);
  await client.query("begin");
  try {
    await client.query(sql);
    for (const statement of recorded.filter(({ request }) => request.includes(path))) {
      const { ms, read } = await timed(statement);
      if (ms > MOST_MS || read > MANY_READ * users) return true;
    }
    return false;
  } finally {
    await client.query("rollback");
  }
}

const asked = requests();
for (const request of asked) await ask(request);
await app.close();
for (const statement of recorded) {
  const before = explain.count();
  const cost = await explain(statement);
  if (cost.ms > (slowest?.ms ?? 0)) slowest = cost;
  if (cost.ms > MOST_MS && explain.count() > before) {
    fail(
      `${cost.ms.toFixed(1)} ms, ${cost.read} rows read, ${cost.mode}: ${cost.request}\n    ${cost.statement.trim()}`,
    );
  }
}
for (const plant of PLANTS) {
  if (await isSeen(plant)) console.log(`seen: ${plant.sql}`);
  else fail(`not seen: ${plant.sql}`);
}
await client.end();

console.log(`${explain.count()} statements of ${asked.length} requests at ${users} users`);
if (slowest) console.log(`slowest ${slowest.ms.toFixed(1)} ms (bound ${MOST_MS}), ${slowest.mode}: ${slowest.request}`);
console.log(`plans: ${explain.count() * 2 + PLANTS.length - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
