import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";
import { POISON_ATTEMPTS } from "./jobs.ts";
import { type Journal, KINDS, type Kind, namesOf, rowsOf } from "./journal.ts";
import { ANSWER_TIMEOUT_MS } from "./traffic.ts";

/** Must hold after every fault; returns the problems it found. */
type Invariant = (cluster: Cluster, journal: Journal) => Promise<string[]>;

export const invariants = {
  acknowledgedWritesAreThere,
  answersAreHonest,
  revokedTokensAreRefused,
  everyChangeIsAudited,
  treeIsSound,
  nothingIsLeftOpen,
  storageIsSound,
  jobsHappenOnce,
} satisfies Record<string, Invariant>;

/** Checks all invariants; call it when all writers have stopped. */
export async function check(cluster: Cluster, journal: Journal): Promise<string[]> {
  const found: string[] = [];
  for (const [name, invariant] of Object.entries(invariants)) {
    const problems = await invariant(cluster, journal);
    found.push(...problems.map((problem) => `${name}: ${problem}`));
  }
  return found;
}

const kinds = Object.keys(KINDS) as Kind[];

/** No 2xx for a write that did not happen. */
export async function acknowledgedWritesAreThere({ engine }: Cluster, journal: Journal): Promise<string[]> {
  const lost = kinds.map(async (kind) => {
    const rows = await engine.query<{ name: string }>(
      `select w.name from unnest($1::text[]) w (name)
       where not exists (select from ${rowsOf(kind)} r where r.name = w.name)`,
      [namesOf(journal, kind, "done")],
    );
    return rows.length === 0 ? [] : [`${rows.length} of kind ${kind} are lost, first ${rows[0]?.name}`];
  });
  return (await Promise.all(lost)).flat();
}

/** During a fault the answer is a 503, or none if the process died; never another 5xx. */
export async function answersAreHonest(_: Cluster, { answers, problems }: Journal): Promise<string[]> {
  const wrong = [...answers].filter(([status]) => status >= 500 && status !== 503);
  return [...problems, ...wrong.map(([status, count]) => `${count} answers with ${status}`)];
}

const MAX_TOKENS = 50;

/** A revoked token is refused by every process, also after restarts. */
export async function revokedTokensAreRefused({ webs }: Cluster, { revoked }: Journal): Promise<string[]> {
  const tokens = revoked.slice(-MAX_TOKENS);
  const asked = webs.flatMap(({ url }) =>
    tokens.map(async (token) => {
      const answer = await fetch(`${url}/api/v4/user`, {
        headers: { "private-token": token },
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      });
      await answer.body?.cancel();
      return answer.status === 401 ? [] : [`${url} answers ${answer.status}`];
    }),
  );
  return (await Promise.all(asked)).flat();
}

/** Every row of the run has exactly one audit event, and every event its row. */
export async function everyChangeIsAudited({ engine }: Cluster, { label }: Journal): Promise<string[]> {
  const made = kinds.map(
    (kind) => `select '${KINDS[kind].event}' as event, id from ${rowsOf(kind)} r where name like $1`,
  );
  const rows = await engine.query<{ event: string; id: string; rows: number; events: number }>(
    `with made as (
       ${made.join("\n union all ")}
       union all
       select 'personal_access_token_revoked', id from personal_access_tokens where name like $1 and revoked_at is not null
     ), audited as (
       select event, target_id as id, count(*)::int as events from audit_events
       where target_name like $1 and event = any($2) group by 1, 2
     )
     select event, id, count(made.id)::int as rows, coalesce(max(audited.events), 0) as events
     from made full join audited using (event, id)
     group by event, id
     having count(made.id) <> 1 or coalesce(max(audited.events), 0) <> 1`,
    [`${label}%`, ["personal_access_token_revoked", ...kinds.map((kind) => KINDS[kind].event)]],
  );
  return rows.map(({ event, id, ...counts }) => `${event} of ${id}: ${counts.rows} rows, ${counts.events} events`);
}

/** Every namespace is below its parent, and everything has exactly one current path. */
export async function treeIsSound({ engine }: Cluster): Promise<string[]> {
  const rows = await engine.query<{ problem: string }>(
    `select 'namespace ' || n.id || ' is not below its parent' as problem
     from namespaces n left join namespaces p on p.id = n.parent_id
     where n.traversal_ids is distinct from coalesce(p.traversal_ids, '{}') || n.id
     union all
     select 'namespace ' || n.id || ' has ' || count(r) || ' paths'
     from namespaces n
       left join routes r on r.namespace_id = n.id and not r.moved
         and r.parent_id = coalesce(n.parent_id, 0) and r.path = lower(n.path)
     group by n.id having count(r) <> 1
     union all
     select 'project ' || p.id || ' has ' || count(r) || ' paths'
     from projects p
       left join routes r on r.project_id = p.id and not r.moved
         and r.parent_id = p.namespace_id and r.path = lower(p.path)
     group by p.id having count(r) <> 1
     union all
     select 'user ' || u.id || ' has no personal namespace'
     from users u where not exists (select from namespaces n where n.id = u.namespace_id and n.kind = 'user')`,
  );
  return rows.map(({ problem }) => problem);
}

/** The first attempt and all retries of a job. */
const MAX_ATTEMPTS = 13;

/** No rolled back job runs, no job has its effect twice, and none is retried without end. */
export async function jobsHappenOnce({ engine }: Cluster, { label, jobs }: Journal): Promise<string[]> {
  const never = jobs.filter(({ outcome }) => outcome === "never").map(({ key }) => key);
  const rows = await engine.query<{ problem: string }>(
    `select key || ' has its effect ' || count(*) || ' times' as problem
     from fault_effects where key like $1 group by key having count(*) > 1
     union all
     select distinct key || ' was rolled back and ran' from fault_attempts where key = any($2)
     union all
     select key || ' was tried ' || max(attempt) || ' times'
     from fault_attempts where key like $1 group by key having max(attempt) > $3
     union all
     select key || ' was tried twice as attempt ' || attempt
     from fault_attempts where key like $1 and stage = 'started' group by key, attempt having count(*) > 1`,
    [`${label}%`, never, MAX_ATTEMPTS],
  );
  return rows.map(({ problem }) => problem);
}

const DRAIN_TIMEOUT_MS = 40_000;

/** Every added job has its effect in the end, and leaves nothing in the queues. */
export async function noJobIsLost({ engine }: Cluster, { label, jobs }: Journal): Promise<string[]> {
  const added = jobs.filter(({ outcome }) => outcome === "done").map(({ key }) => key);
  const look = async () => {
    const rows = await engine.query<{ problem: string }>(
      `select a.key || ' has no effect' as problem
       from unnest($1::text[]) a (key) where not exists (select from fault_effects e where e.key = a.key)
       union all
       select data->'payload'->>'key' || ' is still ' || state || ' in the queue ' || name
       from jobs.job where data->'payload'->>'key' like $2`,
      [added, `${label}%`],
    );
    return rows.map(({ problem }) => problem);
  };
  return settled(look, DRAIN_TIMEOUT_MS);
}

/** A job that always fails is retried up to its limit; then it is dead, kept and counted. */
export async function deadJobsAreCounted(
  { engine, webs: [web], admin }: Cluster,
  { jobs }: Journal,
): Promise<string[]> {
  const look = async () => {
    const rows = await engine.query<{ problem: string }>(
      `select k.key || case when j.name is null then ' is nowhere' else ' is in the queue ' || j.name end
         || ' after ' || (select count(*) from fault_attempts a where a.key = k.key) || ' attempts' as problem
       from unnest($1::text[]) k (key) left join jobs.job j on j.data->'payload'->>'key' = k.key and j.state <> 'failed'
       where j.name is distinct from 'dead' or (select count(*) from fault_attempts a where a.key = k.key) <> $2`,
      [jobs.map(({ key }) => key), POISON_ATTEMPTS],
    );
    return rows.map(({ problem }) => problem);
  };
  const problems = await settled(look, SETTLE_TIMEOUT_MS * 4);
  const answer = await fetch(`${web.url}/api/v4/jobqueue/job_stats`, { headers: { "private-token": admin } });
  const { jobs: stats } = (await answer.json()) as { jobs: { dead: number } };
  const [stored] = await engine.query<{ count: number }>("select count(*)::int from jobs.job where name = 'dead'");
  if (stats.dead === stored?.count) return problems;
  return [...problems, `${stored?.count} are dead and ${stats.dead} are counted`];
}

/** The connections of a process: its pool, the shared point connections, and those of the job engine. */
const MAX_CONNECTIONS = 16;
const SETTLE_TIMEOUT_MS = 3_000;

/** No transaction idles except in paused processes, no advisory lock stays, no connection outlives its process. */
export async function nothingIsLeftOpen({ engine, processes }: Cluster): Promise<string[]> {
  const alive = [...processes].filter((child) => child.alive());
  const paused = alive.filter((child) => child.paused());
  const look = async () => {
    const rows = await engine.query<{ problem: string }>(
      `select application_name || ' idles in a transaction since ' || state_change as problem
       from pg_stat_activity
       where state like 'idle in transaction%' and state_change < now() - interval '1 s' and application_name <> all($3)
       union all
       select a.application_name || ' holds the advisory lock ' || l.classid || ' ' || l.objid
       from pg_locks l join pg_stat_activity a using (pid) where l.locktype = 'advisory'
       union all
       select application_name || ' has ' || count(*) || ' connections'
       from pg_stat_activity
       where backend_type = 'client backend' and application_name not in ('checker', 'harness')
       group by application_name
       having count(*) > case when application_name = any($1) then $2::int else 0 end`,
      [alive.map(({ name }) => name), MAX_CONNECTIONS, paused.map(({ name }) => name)],
    );
    return rows.map(({ problem }) => problem);
  };
  return settled(look, SETTLE_TIMEOUT_MS);
}

/** Repeats a check until it finds nothing or the time is over; the last result counts. */
async function settled(look: () => Promise<string[]>, limit: number): Promise<string[]> {
  const deadline = performance.now() + limit;
  for (;;) {
    const problems = await look();
    if (problems.length === 0 || performance.now() > deadline) return problems;
    await sleep(100);
  }
}

/** Every index agrees with its table, and every page is readable; checksums are on. */
export async function storageIsSound({ engine }: Cluster): Promise<string[]> {
  await engine.query("create extension if not exists amcheck");
  const tables = await engine.query<{ problem: string }>(
    `select c.oid::regclass || ': ' || v.msg as problem
     from pg_class c cross join lateral verify_heapam(c.oid) v
     where c.relkind in ('r', 't') and c.relpersistence = 'p'`,
  );
  const indexes = await engine
    .query(
      `select bt_index_check(c.oid, true)
       from pg_class c join pg_am a on a.oid = c.relam join pg_index i on i.indexrelid = c.oid
       where a.amname = 'btree' and c.relkind = 'i' and c.relpersistence = 'p' and i.indisready and i.indisvalid`,
    )
    .then(
      () => [],
      (error: Error) => [error.message],
    );
  return [...tables.map(({ problem }) => problem), ...indexes];
}
