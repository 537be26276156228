import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "#test/faults/cluster.ts";
import { delays, type Fault, type Report } from "#test/faults/fault.ts";
import { killPostgres, loseUnsyncedCommits } from "./postgres-kill.ts";
import { killWeb } from "./web-kill.ts";

const PROJECTS = 100;
const FINGERPRINTS = 40;
const SENDERS = 16;
/** Acknowledged alerts for each kill. */
const ALERTS_PER_KILL = 5_000;
const PAUSE_MS = 50;

/** Monitoring tools send alerts, again until they are acknowledged, while web processes and PostgreSQL are killed. */
export const alerts: Fault = {
  name: "alerts",
  async run(cluster, times) {
    const journal = newAlertJournal(await makeProjects(cluster));
    const ready: number[] = [];
    await underAlerts(cluster, journal, times * ALERTS_PER_KILL, async (isDone) => {
      for (let kill = 1; kill <= times; kill++) {
        while (journal.acknowledged < kill * ALERTS_PER_KILL * 0.9 && !isDone()) await sleep(PAUSE_MS);
        ready.push(await (kill % 2 === 0 ? killPostgres(cluster) : killWeb(cluster.webs[kill % 4 === 1 ? 0 : 1])));
      }
    });
    return reportOf(cluster, journal, ready);
  },
  controls: [
    {
      name: "alerts whose commits do not wait for the WAL",
      sees: /are lost|are counted/,
      async run(cluster) {
        const journal = newAlertJournal(await makeProjects(cluster));
        await loseUnsyncedCommits(cluster, () =>
          underAlerts(cluster, journal, 3_000, async () => {
            while (journal.acknowledged < 1_000) await sleep(PAUSE_MS);
            await killPostgres(cluster);
          }),
        );
        return problemsOf(cluster, journal);
      },
    },
  ],
};

interface Receiver {
  readonly project: number;
  readonly path: string;
  readonly key: string;
}

/** How many reports of each alert were acknowledged. */
interface AlertJournal {
  readonly receivers: readonly Receiver[];
  readonly reports: Map<string, number>;
  acknowledged: number;
  readonly statuses: Map<string, number>;
}

const newAlertJournal = (receivers: readonly Receiver[]): AlertJournal => ({
  ...{ receivers, reports: new Map(), acknowledged: 0, statuses: new Map() },
});

async function makeProjects({ engine }: Cluster): Promise<Receiver[]> {
  const group = `watched-${Date.now()}`;
  await engine.query("insert into namespaces (kind, path, name, visibility) values ('group', $1, $1, 0)", [group]);
  const rows = await engine.query<{ project: string; path: string; identifier: string }>(
    `with made as (
       insert into projects (namespace_id, name, path, visibility)
       select n.id, 'p' || k, 'p' || k, 0 from namespaces n, generate_series(1, ${PROJECTS}) k where n.path = $1
       returning id, path),
     added as (
       insert into alert_integrations (project_id, type, name, active, endpoint_identifier)
       select id, 'http', 'Faults', true, lpad(to_hex(id), 16, '0') from made returning id, project_id, endpoint_identifier),
     keyed as (
       insert into alert_integration_keys (integration_id, digest)
       select id, sha256(convert_to('flak-faults-' || project_id, 'UTF8')) from added)
     select a.project_id as project, m.path, a.endpoint_identifier as identifier
     from added a join made m on m.id = a.project_id`,
    [group],
  );
  return rows.map(({ project, path, identifier }) => ({
    project: Number(project),
    path: `/${group}/${path}/alerts/notify/faults/${identifier}.json`,
    key: `flak-faults-${project}`,
  }));
}

/** Sends alerts until so many are acknowledged, while `cause` does its work. */
async function underAlerts(
  cluster: Cluster,
  journal: AlertJournal,
  count: number,
  cause: (isDone: () => boolean) => Promise<unknown>,
) {
  const isDone = () => journal.acknowledged >= count;
  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    while (!isDone()) await sendUntilAcknowledged(cluster, journal, sender);
  });
  await Promise.all([cause(isDone), ...senders]);
}

async function sendUntilAcknowledged({ webs }: Cluster, journal: AlertJournal, sender: number) {
  const at = Math.floor(Math.random() * journal.receivers.length);
  const { project, path, key } = journal.receivers[at] as Receiver;
  const fingerprint = `f${Math.floor(Math.random() * FINGERPRINTS)}`;
  for (let tries = 0; ; tries++) {
    const url = webs[(sender + tries) % webs.length]?.url;
    const status = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ title: "Fault", fingerprint }),
      signal: AbortSignal.timeout(10_000),
    }).then(
      async (response) => {
        await response.arrayBuffer();
        return String(response.status);
      },
      () => "no answer",
    );
    journal.statuses.set(status, (journal.statuses.get(status) ?? 0) + 1);
    if (status === "200") break;
    await sleep(PAUSE_MS);
  }
  const name = `${project} ${hash("sha256", fingerprint, "hex")}`;
  journal.reports.set(name, (journal.reports.get(name) ?? 0) + 1);
  journal.acknowledged++;
}

async function problemsOf({ engine }: Cluster, { reports, statuses }: AlertJournal): Promise<string[]> {
  const rows = await engine.query<{ name: string; counted: string; open: string }>(
    `select project_id || ' ' || encode(fingerprint, 'hex') as name, sum(event_count) as counted,
       count(*) filter (where status <> 2) as open
     from alerts group by project_id, fingerprint`,
  );
  const stored = new Map(rows.map((row) => [row.name, row]));
  const problems = [...reports].flatMap(([name, count]) => {
    const row = stored.get(name);
    if (!row) return [`all ${count} acknowledged reports of ${name} are lost`];
    if (Number(row.open) > 1) return [`${name} has ${row.open} open alerts`];
    return Number(row.counted) < count ? [`of ${count} acknowledged reports ${row.counted} are counted`] : [];
  });
  const twice = await engine.query("select from alerts group by project_id, iid having count(*) > 1 limit 1");
  if (twice.length > 0) problems.push("two alerts of a project share a number");
  const odd = [...statuses.keys()].filter((status) => !["200", "503", "no answer"].includes(status));
  return [...problems, ...odd.map((status) => `an answer was ${status}`)];
}

async function reportOf(cluster: Cluster, journal: AlertJournal, ready: readonly number[]): Promise<Report> {
  const statuses = [...journal.statuses].map(([status, count]) => `${status} ${count}`).join(", ");
  return {
    count: ready.length,
    seen: `${journal.acknowledged} alerts acknowledged (${statuses}); ready again: ${delays(ready)}`,
    problems: await problemsOf(cluster, journal),
  };
}
