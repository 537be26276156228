import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import { readConfig } from "#config.ts";
import type { Db } from "#db/database.ts";
import { openLog, openServices } from "#services.ts";
import { withDatabase } from "./database.ts";
import type { Terminal } from "./terminal.ts";

const USAGE = "usage: fairlead moves watch [--once]";
const INTERVAL_MS = 2_000;
const BAR_LENGTH = 20;
/** Moves of the last minutes tell how long the others will take. */
const MEASURED_MINUTES = 10;

/** Shows how far the moves of repositories between storages are, until none is left. */
export async function movesCommand(args: string[], terminal: Terminal) {
  const options = { once: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  if (positionals.join(" ") !== "watch") throw new Error(USAGE);
  const config = readConfig(terminal.env);
  await withDatabase(config, terminal, async (url) => {
    const services = openServices(config, url, openLog(config, "stderr"));
    try {
      for (let shown = ""; ;) {
        const state = await readMoves(services.db.read);
        const text = linesOf(state).join("\n");
        if (text !== shown) terminal.print((shown = text));
        if (values.once || state.scheduled + state.started.length === 0) return;
        await sleep(INTERVAL_MS);
      }
    } finally {
      await services.close();
    }
  });
}

interface StartedMove {
  readonly id: number;
  readonly owner: string | null;
  readonly source_storage: string;
  readonly destination_storage: string;
  readonly phase: string | null;
  readonly bytes: number;
  readonly total_bytes: number | null;
  readonly seconds: number;
}

interface Moves {
  readonly scheduled: number;
  readonly started: readonly StartedMove[];
  /** Those that ended in the last minutes. */
  readonly finished: number;
  readonly failed: number;
}

const MAX_COUNT = 100_000;
/** More than end within the measured minutes, unless repositories are tiny. */
const RECENT_MOVES = 10_000;

async function readMoves(db: Db): Promise<Moves> {
  const { rows: started } = await sql<StartedMove>`
    select m.id, coalesce(p.path || case when r.project_id is null then '.wiki' else '' end,
        'snippet ' || m.snippet_id, n.path || '.wiki') as owner,
      m.source_storage, m.destination_storage, m.phase, coalesce(m.bytes, 0) as bytes, m.total_bytes,
      extract(epoch from now() - m.started_at)::float8 as seconds
    from repository_storage_moves m join repositories r on r.id = m.repository_id
      left join projects p on p.id = m.project_id left join namespaces n on n.id = m.group_id
    where m.state = 'started' order by m.id limit 100`.execute(db);
  const { rows: counts } = await sql<{ scheduled: number; finished: number; failed: number }>`
    with waiting as (
      select from repository_storage_moves where state = 'scheduled' limit ${sql.lit(MAX_COUNT)}
    ), recent as (
      select state from (
        select state, finished_at, started_at from repository_storage_moves
        order by id desc limit ${sql.lit(RECENT_MOVES)}
      ) last
      where state in ('replicated', 'finished', 'cleanup failed', 'failed')
        and started_at > now() - make_interval(mins => ${sql.lit(MEASURED_MINUTES)})
    )
    select (select count(*) from waiting)::int as scheduled,
      (select count(*) from recent where state <> 'failed')::int as finished,
      (select count(*) from recent where state = 'failed')::int as failed`.execute(db);
  return { started, ...(counts[0] ?? { scheduled: 0, finished: 0, failed: 0 }) };
}

function linesOf({ scheduled, started, finished, failed }: Moves): string[] {
  const rate = finished / MEASURED_MINUTES;
  const left = scheduled > 0 && rate > 0 ? `, about ${durationOf((scheduled / rate) * 60)} left` : "";
  const ended = `in the last ${MEASURED_MINUTES} minutes ${finished} moved and ${failed} failed`;
  return [`Scheduled: ${scheduled}, moving: ${started.length}; ${ended}${left}`, ...started.map(lineOf)];
}

function lineOf({ id, owner, source_storage, destination_storage, phase, bytes, total_bytes, seconds }: StartedMove) {
  const name = `  move ${id} of ${owner ?? "a repository"}, ${source_storage} -> ${destination_storage}: ${phase ?? ""}`;
  if (total_bytes === null || total_bytes === 0) return name;
  const done = bytes / total_bytes;
  const bar = "#".repeat(Math.floor(done * BAR_LENGTH)).padEnd(BAR_LENGTH, "-");
  const left = done > 0 && done < 1 ? `, about ${durationOf((seconds / done) * (1 - done))} left` : "";
  return `${name} [${bar}] ${Math.floor(done * 100)} % of ${(total_bytes / 2 ** 20).toFixed(1)} MiB${left}`;
}

function durationOf(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}
