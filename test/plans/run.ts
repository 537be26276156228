import { parseArgs } from "node:util";
import pg from "pg";
import { administratorToken, memberToken, seededEngine, userToken } from "#bench/support/seeded.ts";
import { LARGEST_GROUP } from "#db/seed-tree.ts";
import { testApp } from "#test/support/app.ts";
import { type Cost, explainer } from "./explain.ts";
import { gitRequests, type Named as NamedKeys } from "./git-requests.ts";
import { type Recorded, recordStatements } from "./record.ts";
import { identityRequests, type Named as NamedPeople } from "./identity-requests.ts";
import { type Request, requests } from "./requests.ts";
import { type Named, treeRequests } from "./tree-requests.ts";

/** Defects that must turn this suite red: an index that is gone, and what is slow without it. */
const PLANTS = [
  { sql: "drop index users_words", path: "search=zzzzzz" },
  { sql: "drop index users_by_name", path: "order_by=name&sort=asc&page=500" },
  { sql: "drop index users_by_username", path: "order_by=username" },
  { sql: "drop index users_username_taken", path: "username=nobody" },
];
const MOST_MS = 100;
const MOST_P95 = 60;
const MOST_STATEMENTS = 12;
// A small table hides in time what a large one would show, so a missing index is also known by the rows that are read.
const MANY_READ = 0.6;

const { values } = parseArgs({
  options: {
    users: { type: "string", default: "1000000" },
    projects: { type: "string", default: "2000000" },
    tokens: { type: "string", default: "5000000" },
    only: { type: "string", default: "" },
  },
});
const users = Number(values.users);

await using engine = await seededEngine(users, Number(values.projects), Number(values.tokens));
const client = new pg.Client(engine.url);
await client.connect();
const app = await testApp({ databaseUrl: engine.url });
const tokens: Record<Request["caller"], string | undefined> = {
  anonymous: undefined,
  user: userToken(1),
  "member of 5,000": memberToken(1),
  "member of the largest": memberToken(2),
  administrator: administratorToken,
};
/** How long requests took as a caller sees it, without the network. */
const took: { readonly ms: number; readonly request: string }[] = [];
const recorded: (Recorded & { request: string })[] = [];
const explain = explainer(client, MOST_MS);
let slowest: Cost | undefined;
let failed = 0;

function fail(text: string) {
  failed++;
  console.log(text);
}

async function ask({ caller, path, refused }: Request) {
  const request = `${caller} ${path}`;
  const statements = await recordStatements(async () => {
    // The first time a connection plans the statement.
    for (let times = 0; times < 2; times++) {
      const began = performance.now();
      const { status, text } = await app.get(path, { token: tokens[caller] });
      if (times > 0) took.push({ ms: performance.now() - began, request });
      if (refused ? status !== 403 : status !== 200 && status !== 405) fail(`${request}: ${status} ${text}`);
    }
  });
  if (statements.length > 2 * MOST_STATEMENTS) fail(`${request}: ${statements.length} statements`);
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

async function named(): Promise<Named> {
  const { rows: groups } = await client.query("select id, path from namespaces where path = $1", [LARGEST_GROUP]);
  const { rows: projects } = await client.query(
    `select p.id, $1 || '/' || n.path || '/' || p.path as path from namespaces n join projects p on p.namespace_id = n.id
     where n.parent_id = $2 order by n.id, p.id limit 1`,
    [LARGEST_GROUP, groups[0].id],
  );
  return { largest: groups[0], project: projects[0] };
}

async function namedPeople(employer: number): Promise<NamedPeople> {
  const { rows } = await client.query(
    `select u.id as account, u.provisioned_by_group_id as group from users u
     where u.user_type = 'service_account' and u.provisioned_by_group_id is not null order by u.id limit 1`,
  );
  return { ...rows[0], employer };
}

async function namedKeys({ largest, project }: Named): Promise<NamedKeys> {
  const { rows: people } = await client.query(
    `select m.user_id as id from members m join namespaces n on n.id = m.group_id
     where n.traversal_ids[1] = $1 and m.access_level >= 40 and m.expires_at is null
     order by cardinality(n.traversal_ids), m.id limit 1`,
    [largest.id],
  );
  const { rows } = await client.query(
    `select project_id as project, min(key_id) as key from deploy_keys_projects
     group by project_id order by count(*) desc, project_id limit 1`,
  );
  return { project, opened: rows[0], maintainer: people[0].id };
}

const places = await named();
const people = await namedPeople(places.largest.id);
const keys = await namedKeys(places);
const asked = [...requests(), ...treeRequests(places), ...identityRequests(people), ...gitRequests(keys)].filter(
  ({ caller, path }) => `${caller} ${path}`.includes(values.only),
);
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

const sorted = took.toSorted((a, b) => a.ms - b.ms);
const late = sorted[Math.floor(sorted.length * 0.95)];
if (late && late.ms > MOST_P95) fail(`95 in 100 requests took up to ${late.ms.toFixed(1)} ms`);
console.log(`requests: p50 ${sorted[Math.floor(sorted.length / 2)]?.ms.toFixed(1)} ms, p95 ${late?.ms.toFixed(1)} ms`);
for (const { ms, request } of sorted.slice(-5).toReversed()) console.log(`  ${ms.toFixed(1)} ms ${request}`);
console.log(`${explain.count()} statements of ${asked.length} requests at ${users} users`);
if (slowest) console.log(`slowest ${slowest.ms.toFixed(1)} ms (bound ${MOST_MS}), ${slowest.mode}: ${slowest.request}`);
console.log(`plans: ${explain.count() * 2 + PLANTS.length - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
