/** Anything that runs SQL: a connection or a pool of the driver. */
interface Queries {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

interface PartitionedTable {
  readonly table: string;
  readonly by: "month" | "day";
  /** How many periods are created ahead of the current one. */
  readonly ahead: number;
  /** Readiness warns when fewer than this are left. */
  readonly least: number;
  /** Whether its partitions refuse `truncate`; partitions do not inherit the table's trigger. */
  readonly appendOnly?: true;
}

const TABLES: readonly PartitionedTable[] = [
  { table: "audit_events", by: "month", ahead: 3, least: 1, appendOnly: true },
  { table: "events", by: "month", ahead: 3, least: 1 },
];

export interface PartitionsAhead {
  readonly table: string;
  readonly by: "month" | "day";
  /** Periods beyond the current one that have a partition, without a gap; -1 if even the current one has none. */
  readonly ahead: number;
  readonly enough: boolean;
}

interface Period {
  readonly table: string;
  readonly partition: string;
  readonly from: string;
  readonly to: string;
  readonly exists: boolean;
}

/** An arbitrary key for the advisory lock of partition maintenance. */
const LOCK = 7_219_352_001;

/** Creates the partitions of the current and the coming periods; safe to run at any time and concurrently. */
export async function createPartitions(client: Queries, tables = TABLES): Promise<string[]> {
  if ((await missingPeriods(client, tables)).length === 0) return [];
  const created: string[] = [];
  await client.query("begin");
  try {
    await client.query(`select pg_advisory_xact_lock(${LOCK})`);
    for (const { table, partition, from, to } of await missingPeriods(client, tables)) {
      // Attaching a table does not block reads and writes, as `create table … partition of` would.
      await client.query(`create table ${partition} (like ${table} including defaults including constraints)`);
      await client.query(`alter table ${table} attach partition ${partition} for values from ('${from}') to ('${to}')`);
      if (tables.some((listed) => listed.table === table && listed.appendOnly))
        await client.query(
          `create trigger no_truncate before truncate on ${partition} execute function refuse_change()`,
        );
      created.push(partition);
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
  return created;
}

/** How many periods ahead each partitioned table has partitions for. */
export async function partitionsAhead(client: Queries, tables = TABLES): Promise<PartitionsAhead[]> {
  const periods = await periodsOf(client, tables);
  return tables.map(({ table, by, least }) => {
    const ours = periods.filter((period) => period.table === table);
    const gap = ours.findIndex((period) => !period.exists);
    const ahead = (gap === -1 ? ours.length : gap) - 1;
    return { table, by, ahead, enough: ahead >= least };
  });
}

type Tables = readonly PartitionedTable[];

const missingPeriods = async (client: Queries, tables: Tables) =>
  (await periodsOf(client, tables)).filter((period) => !period.exists);

/** The current and the coming periods of each existing table, by PostgreSQL's clock, in order. */
async function periodsOf(client: Queries, tables: Tables): Promise<Period[]> {
  const { rows } = await client.query(
    `select t.name as "table", t.name || to_char(start, t.suffix) as partition,
       to_char(start, 'YYYY-MM-DD 00:00:00+00') as "from",
       to_char(start + t.period, 'YYYY-MM-DD 00:00:00+00') as "to",
       exists (
         select from pg_inherits join pg_class on pg_class.oid = inhrelid
         where inhparent = to_regclass(t.name) and relname = t.name || to_char(start, t.suffix)
       ) as "exists"
     from (
       select name, ahead, ('1 ' || by)::interval as period, date_trunc(by, now() at time zone 'UTC') as today,
         case by when 'month' then '_YYYY_MM' else '_YYYY_MM_DD' end as suffix
       from unnest($1::text[], $2::text[], $3::integer[]) as listed (name, by, ahead)
     ) t, generate_series(t.today, t.today + t.ahead * t.period, t.period) as start
     where to_regclass(t.name) is not null
     order by t.name, start`,
    [tables.map((t) => t.table), tables.map((t) => t.by), tables.map((t) => t.ahead)],
  );
  return rows as Period[];
}
