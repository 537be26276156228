import { parseArgs } from "node:util";
import { sql } from "kysely";
import { INGESTION_LIMITS, parseJson } from "#http/params/json.ts";
import { isHash } from "#http/params/raw.ts";
import { Refusal } from "#lib/refusal.ts";
import { reportsIn } from "#domains/monitoring/alert-payloads/reports.ts";
import { MAPPABLE, type Mappings, VALUE_TYPES } from "#domains/monitoring/alert-payloads/mapping.ts";
import { WRITE_REPORTS } from "#domains/monitoring/alert-ingestion/write.ts";
import { testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { type Random, randomOf } from "#test/support/random.ts";

/**
 * Random and damaged payloads of alerts: each is read or refused, and every alert that is read fits into the database.
 * Nothing else may happen, whatever a monitoring tool sends.
 */
const { values } = parseArgs({
  options: { cases: { type: "string", default: "200000" }, seed: { type: "string", default: "1" } },
});
const [cases, seed] = [Number(values.cases), Number(values.seed)];
/** Cases whose alerts are written together. */
const ROUND = 400;
const MAX_SHOWN = 20;

const SCALARS: readonly ((random: Random) => string)[] = [
  () => "null",
  () => "true",
  (random) => String(random.below(2 ** 31) - 2 ** 30),
  (random) => `${random.below(9)}${random.pick(["e307", "e-308", ".5", "0".repeat(30), "777888800000"])}`,
  (random) =>
    JSON.stringify(random.pick(["", " ", "critical", "P1", "resolved", "firing", "4", "\u202e", "🚢".repeat(300)])),
  (random) =>
    random.pick([String.raw`"\u0000"`, String.raw`"\ud800"`, String.raw`"a\udfffb"`, String.raw`"\u2028\n\r\t"`]),
  (random) =>
    JSON.stringify(
      random.pick(["0001-01-01T00:00:00Z", "2026-05-04T10:00:00+02:00", "9999-12-31", "May 4", "1777888800000"]),
    ),
  (random) =>
    JSON.stringify(
      random.pick(["http://x/graph?g0.expr=up", "http://[", "javascript:1", "x".repeat(random.below(5000))]),
    ),
];
const NAMES = [
  ...Object.keys(MAPPABLE),
  ...["gitlab_environment_name", "runbook", "status", "alerts", "labels", "annotations", "startsAt", "endsAt"],
  ...[
    "generatorURL",
    "alertname",
    "summary",
    "version",
    "groupKey",
    "receiver",
    "commonLabels",
    "__proto__",
    "constructor",
  ],
  ...["", "\u0000", "a.b", "0", "toString"],
];
const ENVELOPE =
  '"commonAnnotations":{},"commonLabels":{},"externalURL":"","groupKey":"","groupLabels":{},"receiver":"","status":"","version":"4"';

function valueText(random: Random, depth: number): string {
  if (depth === 0 || random.chance(0.5)) return random.pick(SCALARS)(random);
  const inner = Array.from({ length: random.below(6) }, () => valueText(random, depth - 1));
  if (random.chance(0.4)) return `[${inner.join(",")}]`;
  return `{${inner.map((text) => `${JSON.stringify(random.pick(NAMES))}:${text}`).join(",")}}`;
}

const objectText = (random: Random, names: readonly string[]) =>
  `{${names.map((name) => `"${name}":${valueText(random, 3)}`).join(",")}}`;

const someOf = (random: Random, names: readonly string[]) => names.filter(() => random.chance(0.6));

function itemText(random: Random): string {
  if (random.chance(0.1)) return valueText(random, 3);
  const sure = random.chance(0.7)
    ? `"startsAt":"2026-05-04T10:00:00Z","labels":{"alertname":"A${random.below(50)}"},`
    : "";
  const labels = objectText(random, someOf(random, ["alertname", "severity", "platform_environment_name"]));
  const annotations = objectText(random, someOf(random, ["title", "summary", "description", "runbook"]));
  const rest = someOf(random, ["startsAt", "endsAt", "status", "generatorURL"]).map(
    (name) => `"${name}":${valueText(random, 1)}`,
  );
  return `{${sure}${sure === "" ? `"labels":${labels},` : ""}"annotations":${annotations}${rest.map((text) => `,${text}`).join("")}}`;
}

function bodyOf(random: Random): Buffer {
  const items = Array.from({ length: random.below(5) }, () => itemText(random));
  const text = random.chance(0.5)
    ? `{"alerts":[${items.join(",")}],${ENVELOPE}}`
    : objectText(random, someOf(random, NAMES.slice(0, 20)));
  const bytes = Buffer.from(text);
  if (random.chance(0.1)) bytes[random.below(bytes.length)] = random.below(256);
  if (random.chance(0.02)) return Buffer.from(text.replace(":", ':[1e400],"x":'));
  return bytes;
}

const pathOf = (random: Random) => Array.from({ length: 1 + random.below(3) }, () => random.pick(NAMES));

function mappingsOf(random: Random): Mappings {
  const fields = random.chance(0.5) ? [] : Object.keys(MAPPABLE).filter(() => random.chance(0.3));
  return Object.fromEntries(
    fields.map((field) => {
      const fallback_path = random.chance(0.5) ? null : pathOf(random);
      return [field, { path: pathOf(random), type: random.pick(VALUE_TYPES), label: null, fallback_path }];
    }),
  );
}

const app = await testApp({ databaseUrl: await freshDatabase() });
const { db } = app.services;
const { id: creator } = await app.makeUser();
const {
  rows: [project],
} = await sql<{ id: number }>`
  insert into projects (namespace_id, name, path, visibility)
  select namespace_id, 'Fuzzed', 'fuzzed', 0 from users where id = ${creator} returning id`.execute(db.write);
const {
  rows: [integration],
} = await sql<{ id: number }>`
  insert into alert_integrations (project_id, type, name, active, endpoint_identifier)
  values (${project?.id}, 'http', 'Fuzz', true, '0123456789abcdef') returning id`.execute(db.write);
const sender = { id: integration?.id ?? 0, project_id: project?.id ?? 0 };

const problems: string[] = [];
const seen = { read: 0, refused: 0, alerts: 0, unreadable: 0, longestMs: 0 };
const began = performance.now();
for (let first = 0; first < cases; first += ROUND) {
  const rows = Array.from({ length: Math.min(ROUND, cases - first) }, (_, at) => rowsOf(first + at)).flat();
  const outcomes = await Promise.allSettled(rows.map(({ row }) => db.batched(WRITE_REPORTS, row)));
  for (const [at, outcome] of outcomes.entries())
    if (outcome.status === "rejected") problems.push(`case ${rows[at]?.number}: ${String(outcome.reason)}`);
}
const seconds = (performance.now() - began) / 1000;
await app.close();

for (const problem of problems.slice(0, MAX_SHOWN)) console.log(`✖ ${problem}`);
console.log(
  `seed ${seed}: ${seen.read} bodies read, ${seen.refused} refused; ${seen.alerts} alerts written, ${seen.unreadable} items ` +
    `unreadable; longest case ${seen.longestMs.toFixed(1)} ms, ${Math.round(cases / seconds)} cases a second`,
);
const isMeaningful = seen.alerts > cases / 2 && seen.refused > 0 && seen.unreadable > 0;
if (!isMeaningful) problems.push("too few alerts were read, refused or unreadable");
console.log(`alert-payloads: ${cases - problems.length} passed, ${problems.length} failed`);
process.exit(problems.length === 0 ? 0 : 1);

/** The alerts of a case, as they would be written. */
function rowsOf(number: number) {
  const random = randomOf(seed * 1_000_003 + number);
  const started = performance.now();
  try {
    const body = parseJson(bodyOf(random), INGESTION_LIMITS);
    if (!isHash(body)) return [];
    const reading = { mappings: mappingsOf(random), fingerprintsPayloads: random.chance(0.8), now: new Date() };
    const alerts = reportsIn(body, reading);
    seen.read++;
    seen.unreadable += alerts.filter((alert) => alert === undefined).length;
    const readable = alerts.filter((alert) => alert !== undefined);
    seen.alerts += readable.length;
    return readable.map((alert) => ({ number, row: { sender, alert, payload: JSON.stringify(alert.payload) } }));
  } catch (error) {
    if (error instanceof Refusal) seen.refused++;
    else problems.push(`case ${number}: ${error instanceof Error ? error.stack : String(error)}`);
    return [];
  } finally {
    seen.longestMs = Math.max(seen.longestMs, performance.now() - started);
  }
}
