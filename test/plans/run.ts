import { parseArgs } from "node:util";
import pg from "pg";
import { administratorToken, seededEngine, userToken } from "#bench/support/seeded.ts";
import { testApp } from "#test/support/app.ts";
import { explainer, type Slow } from "./explain.ts";
import { recordStatements } from "./record.ts";
import { type Request, requests } from "./requests.ts";

/** Defects that must turn this suite red: an index that is gone. */
const PLANTS: Record<string, string> = {
  "no-trigrams": "drop index users_words",
  "no-order": "drop index users_by_name",
  "no-covering": "drop index users_by_id",
};
const BOUND_AT_A_MILLION = 100;
const MOST_STATEMENTS = 8;
const MOST_SHOWN = 40;

const { values } = parseArgs({ options: { users: { type: "string", default: "1000000" }, plant: { type: "string" } } });
const users = Number(values.users);
// The bound is for a million users; with fewer of them a walk over all costs less, and so must be worth less.
const bound = BOUND_AT_A_MILLION * Math.min(users / 1_000_000, 1);

await using engine = await seededEngine(users);
const client = new pg.Client(engine.url);
await client.connect();
const plant = values.plant === undefined ? undefined : PLANTS[values.plant];
if (values.plant !== undefined && plant === undefined) throw new Error(`plants: ${Object.keys(PLANTS).join(", ")}`);

const app = await testApp({ databaseUrl: engine.url });
const tokens = { anonymous: undefined, user: userToken(1), administrator: administratorToken };
let failed = 0;
const fail = (text: string) => {
  failed++;
  if (failed <= MOST_SHOWN) console.log(text);
};
const explain = explainer(client, bound);
let asked = 0;
let slowest: Slow = { ms: 0, mode: "", statement: "", request: "" };

if (plant) await client.query("begin").then(() => client.query(plant));
for (const request of requests()) await check(request);
if (plant) await client.query("rollback");

async function check({ caller, path }: Request) {
  const statements = await recordStatements(async () => {
    const { status, text } = await app.get(path, { token: tokens[caller] });
    if (status !== 200 && status !== 405) fail(`${caller} ${path}: ${status} ${text}`);
  });
  asked++;
  if (statements.length > MOST_STATEMENTS) fail(`${caller} ${path}: ${statements.length} statements`);
  for (const statement of statements) {
    const slow = await explain(statement, `${caller} ${path}`);
    if (slow.ms > slowest.ms) slowest = slow;
    if (slow.ms > bound && slow.request === `${caller} ${path}`) fail(`${slow.ms.toFixed(1)} ms, ${slow.mode}: ${slow.request}\n    ${slow.statement}`);
  }
}

console.log(`${explain.count()} statements of ${asked} requests at ${users} users, bound ${bound} ms`);
console.log(`slowest ${slowest.ms.toFixed(1)} ms, ${slowest.mode}: ${slowest.request}`);
console.log(`plans: ${explain.count() * 2 - failed} passed, ${failed} failed`);
await client.end();
await app.close();
if (failed > 0) process.exitCode = 1;
