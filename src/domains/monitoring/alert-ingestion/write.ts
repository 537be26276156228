import type { BatchedWrite, RunStatement } from "#db/batches.ts";
import type { ReportedAlert } from "#domains/monitoring/alert-payloads/alert.ts";
import type { Sender } from "#domains/monitoring/alert-integrations/access.ts";
import { numberOfSeverity } from "#domains/monitoring/alerts/words.ts";

/** One report of an alert, on its way to the database. */
export interface ReportRow {
  readonly sender: Pick<Sender, "id" | "project_id">;
  readonly alert: ReportedAlert;
  /** The payload as JSON. */
  readonly payload: string;
}

/** The alert that a report created, repeated or resolved; undefined if it would resolve one that is not there. */
export type WrittenAlert = { readonly iid: number; readonly title: string } | undefined;

/** Reports that one statement treats as one: they have the same fingerprint and the same action. */
interface Group {
  readonly first: ReportRow;
  readonly reports: number[];
}

const MIB = 1024 * 1024;

export const WRITE_REPORTS: BatchedWrite<ReportRow, WrittenAlert> = {
  maxRows: 500,
  maxWaiting: { rows: { each: 1000, all: 4000 }, bytes: { each: 8 * MIB, all: 32 * MIB } },
  owner: ({ sender }) => sender.project_id,
  bytes: ({ payload }) => payload.length,
  keyOf: ({ sender, alert: { digest, resolves } }) => ({
    key: digest ? `${sender.project_id} ${digest.toString("hex")}` : "",
    action: digest && resolves ? "resolve" : "report",
  }),
  write: writeReports,
};

async function writeReports(run: RunStatement, rows: readonly ReportRow[]): Promise<WrittenAlert[]> {
  const groups = groupsOf(rows);
  const written: WrittenAlert[] = rows.map(() => undefined);
  for (const { n, iid, title } of await run<{ n: number; iid: number; title: string }>(STATEMENT, valuesOf(groups)))
    for (const at of groups[n]?.reports ?? []) written[at] = { iid, title };
  return written;
}

function groupsOf(rows: readonly ReportRow[]): Group[] {
  const groups = new Map<string | number, Group>();
  for (const [at, row] of rows.entries()) {
    const { key } = WRITE_REPORTS.keyOf(row);
    const group = groups.get(key === "" ? at : key);
    if (group) group.reports.push(at);
    else groups.set(key === "" ? at : key, { first: row, reports: [at] });
  }
  return [...groups.values()];
}

/** The columns of the input, in the order of the parameters of the statement. */
const COLUMNS = {
  n: { type: "integer", of: (_: Group, n: number) => n },
  project_id: { type: "bigint", of: ({ first }: Group) => first.sender.project_id },
  integration_id: { type: "bigint", of: ({ first }: Group) => first.sender.id },
  reports: { type: "integer", of: ({ reports }: Group) => reports.length },
  resolves: { type: "boolean", of: ({ first }: Group) => first.alert.resolves },
  ended_at: { type: "timestamptz", of: ({ first }: Group) => first.alert.endedAt },
  fingerprint: { type: "text", of: ({ first }: Group) => first.alert.digest?.toString("hex") ?? null },
  severity: { type: "smallint", of: ({ first }: Group) => numberOfSeverity(first.alert.severity) },
  started_at: { type: "timestamptz", of: ({ first }: Group) => first.alert.startedAt },
  title: { type: "text", of: ({ first }: Group) => first.alert.title },
  description: { type: "text", of: ({ first }: Group) => first.alert.description },
  service: { type: "text", of: ({ first }: Group) => first.alert.service },
  monitoring_tool: { type: "text", of: ({ first }: Group) => first.alert.monitoringTool },
  // A list of lists would have to be a rectangle.
  hosts: { type: "text", of: ({ first }: Group) => first.alert.hosts.join("\n") },
  environment_name: { type: "text", of: ({ first }: Group) => first.alert.environmentName },
  runbook: { type: "text", of: ({ first }: Group) => first.alert.runbook },
  query: { type: "text", of: ({ first }: Group) => first.alert.query },
  grouped_by: { type: "text", of: ({ first }: Group) => JSON.stringify(first.alert.groupedBy) },
  payload: { type: "text", of: ({ first }: Group) => first.payload },
} as const;

const valuesOf = (groups: readonly Group[]): unknown[] =>
  Object.values(COLUMNS).map(({ of }) => groups.map((group, n) => of(group, n)));

const names = Object.keys(COLUMNS);
const parameters = Object.values(COLUMNS).map(({ type }, at) => `$${at + 1}::${type}[]`);

/**
 * Unresolved alerts are locked in the order of their ids and counters in that of their projects, so that processes
 * which write the same alerts wait for each other and never in a circle. Only new alerts take numbers. Another process
 * may create an alert after this statement began: then its number stays unused, and the report is counted there.
 */
const STATEMENT = `
  with input as (
    select ${names.filter((name) => name !== "fingerprint").join(", ")}, decode(fingerprint, 'hex') as fingerprint
    from unnest(${parameters.join(", ")}) given (${names.join(", ")})
  ), unresolved as materialized (
    select i.n, a.id, a.iid, a.title, a.status
    from input i join alerts a on a.project_id = i.project_id and a.fingerprint = i.fingerprint and a.status <> 2
    order by a.id for update of a
  ), repeated as (
    update alerts a set event_count = a.event_count + i.reports, updated_at = now()
    from unresolved u join input i on i.n = u.n
    where a.id = u.id and not i.resolves
  ), resolved as (
    update alerts a set status = 2, ended_at = coalesce(i.ended_at, now()), updated_at = now()
    from unresolved u join input i on i.n = u.n
    where a.id = u.id and i.resolves
    returning a.id, u.status
  ), recovered as (
    insert into alert_changes (alert_id, action, from_status, to_status)
    select id, 'recovered', status, 2 from resolved
  ), fresh as (
    select i.*, row_number() over of_project as turn, count(*) over of_project as total
    from input i
    where not i.resolves and not exists (select from unresolved u where u.n = i.n)
    window of_project as (partition by i.project_id)
  ), counters as (
    insert into alert_counters as c (project_id, last_iid)
    select project_id, count(*) from fresh group by project_id order by project_id
    on conflict (project_id) do update set last_iid = c.last_iid + excluded.last_iid
    returning project_id, last_iid
  ), numbered as materialized (
    select f.*, (c.last_iid - f.total + f.turn)::integer as iid from fresh f join counters c using (project_id)
  ), created as (
    insert into alerts as a (project_id, integration_id, iid, event_count, severity, started_at, fingerprint, title,
      description, service, monitoring_tool, hosts, environment_name, runbook, query, grouped_by, payload)
    select project_id, integration_id, iid, reports, severity, coalesce(started_at, now()), fingerprint, title,
      description, service, monitoring_tool, string_to_array(hosts, chr(10)), environment_name, runbook, query,
      grouped_by::jsonb, payload
    from numbered order by project_id, iid
    on conflict (project_id, fingerprint) where status <> 2
      do update set event_count = a.event_count + excluded.event_count, updated_at = now()
    returning project_id, fingerprint, iid, title
  )
  select n, iid, title from unresolved
  union all
  select n.n, c.iid, c.title from numbered n join created c
    on c.project_id = n.project_id and (c.fingerprint = n.fingerprint or n.fingerprint is null and c.iid = n.iid)`;
