import { hash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { migrate } from "#db/migrate.ts";
import { startServer } from "#db/server.ts";
import { type Figure, median, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { run, type Running, startFairlead, temporaryDirectory } from "./support/processes.ts";

const CONNECTIONS = 64;
const PROJECTS = 200;
const KINDS = ["spread", "same", "new"] as const;
type Kind = (typeof KINDS)[number];

interface Load {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

interface Installation {
  readonly url: string;
  readonly server: Running;
  /** The addresses and keys of integrations, one a line. */
  readonly addresses: string;
  readonly token: string;
  readonly scripts: Readonly<Record<Kind, string>>;
}

/** Alerts through HTTP, beside one statement for each of the same rows in pgbench. */
export async function alerts({ rounds, seconds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const engine = await startServer({ dataDir: join(dir.path, "postgres") });
  try {
    await migrate(engine.url);
    const token = `flpat-${hash("sha256", dir.path, "hex").slice(0, 27)}`;
    await using server = await startFairlead(dir.path, {
      FAIRLEAD_DATABASE_URL: engine.url,
      FAIRLEAD_DATA_DIR: join(dir.path, "data"),
      FAIRLEAD_ROOT_TOKEN: token,
      FAIRLEAD_RATE_LIMITS: "off",
    });
    const files = { addresses: join(dir.path, "addresses"), scripts: scriptsIn(dir.path) };
    writeFileSync(files.addresses, await makeProjects(engine.url));
    return await measure({ url: engine.url, server, token, ...files }, rounds, seconds);
  } finally {
    await engine.stop();
  }
}

async function measure(on: Installation, rounds: number, seconds: number): Promise<Figure[]> {
  const measured = new Map(KINDS.map((kind) => [kind, [] as { ours: Load; bare: number }[]]));
  for (const kind of KINDS) await send(on, kind, 1);
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const [kind, loads] of measured)
      loads.push({ bare: await bareRate(on, kind, seconds), ours: await send(on, kind, seconds) });
  }
  await checkNumbers(on.url);
  const rate = (kind: Kind) => median(measured.get(kind)?.map(({ ours }) => ours.perSecond) ?? []);
  const ratio = (kind: Kind) => median(measured.get(kind)?.map(({ ours, bare }) => ours.perSecond / bare) ?? []);
  console.log(
    table(
      [`alerts a second, ${CONNECTIONS} connections`, "pgbench, 16 clients", "ours", "ratio", "p50 ms", "p99 ms"],
      [...measured].map(([kind, loads]) => [
        kind,
        median(loads.map(({ bare }) => bare)),
        rate(kind),
        ratio(kind),
        median(loads.map(({ ours }) => ours.p50)),
        median(loads.map(({ ours }) => ours.p99)),
      ]),
    ),
  );
  const calm = await beside(on, rate("spread") * 0.7, seconds * 2);
  console.log(`at 70 % of the highest rate: ${Math.round(calm.perSecond)} a second, p99 ${calm.p99.toFixed(1)} ms`);
  return [
    { about: "of pgbench's rate spread over 200 projects", value: ratio("spread"), bound: "at least", goal: 0.6 },
    { about: "with repeats of one alert", value: ratio("same"), bound: "at least", goal: 5 },
    { about: "with new alerts in one project", value: ratio("new"), bound: "at least", goal: 4 },
    { about: "p99 at 70 % of the rate", unit: " ms", value: calm.p99, bound: "at most", goal: 25 },
    { about: "p95 of GET /user beside it", unit: " ms", value: calm.userP95, bound: "at most", goal: 20 },
  ];
}

/** Sends as fast as the server answers, or pauses after each alert; throws if any was refused. */
async function send({ server, addresses }: Installation, kind: Kind, seconds: number, pauseMs = 0): Promise<Load> {
  const script = join(import.meta.dirname, "support/alerts.lua");
  const size = ["--threads", "1", "--connections", String(CONNECTIONS), "--duration", `${seconds}s`];
  const output = await run("wrk", [
    ...[...size, "--script", script, server.url],
    ...["--", addresses, kind, String(pauseMs)],
  ]);
  const seen = JSON.parse(output.trimEnd().slice(output.trimEnd().lastIndexOf("\n")));
  if (seen.refused + seen.broken > 0)
    throw new Error(`${kind}: ${seen.refused} refused, ${seen.broken} broken\n${refusals(server.log)}`);
  return { perSecond: (seen.requests / seen.microseconds) * 1e6, p50: seen.p50 / 1000, p99: seen.p99 / 1000 };
}

/** The last lines of the log about refused alerts. */
const refusals = (log: string) =>
  readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line.includes("/alerts/notify/") && !line.includes('"status":200'))
    .slice(-3)
    .join("\n");

/** Alerts at a steady rate, while somebody asks who they are. */
async function beside(on: Installation, rate: number, seconds: number) {
  const sending = send(on, "spread", seconds, (CONNECTIONS / rate) * 1000);
  const times: number[] = [];
  const end = performance.now() + seconds * 900;
  while (performance.now() < end) {
    const began = performance.now();
    const response = await fetch(`${on.server.url}/api/v4/user`, { headers: { "private-token": on.token } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`GET /user answered ${response.status}`);
    times.push(performance.now() - began);
    await pause(10);
  }
  const sorted = times.toSorted((one, other) => one - other);
  return { ...(await sending), userP95: sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN };
}

async function bareRate({ url, scripts }: Installation, kind: Kind, seconds: number): Promise<number> {
  const size = ["--client", "16", "--jobs", "2", "--time", String(seconds)];
  const output = await run("pgbench", ["--no-vacuum", "--protocol", "prepared", ...size, "--file", scripts[kind], url]);
  return Number(/tps = ([\d.]+)/.exec(output)?.[1]);
}

/** The same rows, one statement for each: repeat, or else take a number and insert. */
function scriptsIn(directory: string): Record<Kind, string> {
  const statement = (project: string, name: string) => `
    with said as (select ${project}::bigint as project_id, ${name}::text as name),
      keyed as (select *, sha256(convert_to('disk ' || name, 'UTF8')) as fingerprint from said),
      repeated as (
        update alerts a set event_count = a.event_count + 1, updated_at = now() from keyed k
        where a.project_id = k.project_id and a.fingerprint = k.fingerprint and a.status <> 2 returning a.iid),
      counter as (
        insert into alert_counters as c (project_id, last_iid)
        select project_id, 1 from keyed where not exists (select from repeated)
        on conflict (project_id) do update set last_iid = c.last_iid + 1 returning last_iid)
    insert into alerts as a (project_id, iid, severity, started_at, fingerprint, title, description, service,
      monitoring_tool, hosts, grouped_by, payload)
    select k.project_id, c.last_iid, 1, now(), k.fingerprint, 'Disk ' || k.name || ' is full',
      'Nothing can be written any more', 'mail', 'bench', '{db-1}', '{"by":"fingerprint"}', '{"title":"Disk"}'
    from keyed k, counter c
    on conflict (project_id, fingerprint) where status <> 2 do update set event_count = a.event_count + 1;\n`;
  const scripts = {
    spread: `\\set project random(1, ${PROJECTS})\n\\set name random(1, 25)\n${statement(":project", ":name")}`,
    same: statement("1", "'1'"),
    new: `\\set one random(1, 1000000000)\n\\set two random(1, 1000000000)\n${statement("2", "'bare ' || :one || ' ' || :two")}`,
  };
  const file = (kind: Kind) => {
    const path = join(directory, `${kind}.sql`);
    writeFileSync(path, scripts[kind]);
    return path;
  };
  return { spread: file("spread"), same: file("same"), new: file("new") };
}

/** Projects with an integration each; returns a line with the address and the key of each. */
async function makeProjects(url: string): Promise<string> {
  const client = new Client(url);
  await client.connect();
  await client.query("insert into namespaces (kind, path, name, visibility) values ('group', 'watched', 'Watched', 0)");
  const { rows } = await client.query<{ id: number; identifier: string }>(
    `with made as (
       insert into projects (namespace_id, name, path, visibility)
       select n.id, 'p' || k, 'p' || k, 0 from namespaces n, generate_series(1, ${PROJECTS}) k where n.path = 'watched'
       returning id)
     insert into alert_integrations (project_id, type, name, active, endpoint_identifier)
     select id, 'http', 'Bench', true, lpad(to_hex(id), 16, '0') from made
     returning project_id as id, endpoint_identifier as identifier`,
  );
  const keyOf = (id: number) => `flak-bench-${id}`;
  await client.query(
    `insert into alert_integration_keys (integration_id, digest)
     select i.id, sha256(convert_to('flak-bench-' || i.project_id, 'UTF8')) from alert_integrations i`,
  );
  const { rows: paths } = await client.query<{ id: number; path: string }>("select id, path from projects");
  await client.end();
  const pathOf = new Map(paths.map(({ id, path }) => [String(id), path]));
  return rows
    .map(
      ({ id, identifier }) =>
        `/watched/${pathOf.get(String(id))}/alerts/notify/bench/${identifier}.json ${keyOf(id)}\n`,
    )
    .join("");
}

/** Every alert has a number of its own, and an unresolved one a fingerprint of its own. */
async function checkNumbers(url: string) {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ twice: string }>(
    `select (select count(*) from (select from alerts group by project_id, iid having count(*) > 1) i)
       + (select count(*) from (
           select from alerts where status <> 2 group by project_id, fingerprint having count(*) > 1) f) as twice`,
  );
  await client.end();
  if (Number(rows[0]?.twice) > 0) throw new Error("Alerts share a number or a fingerprint");
}
