import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import type { SeedStep } from "#db/seed.ts";
import { startServer } from "#db/server.ts";
import type { SeedSize } from "#domains/foundation/seed.ts";
import { seeds } from "#domains/index.ts";
import { progress } from "./figures.ts";
import { bringUpToDate, isOutdated } from "./kept.ts";
import { runFairlead } from "./processes.ts";

/** A seeded PostgreSQL, its main process and its log of statements. */
export interface Engine extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly log: string;
  /** The number of ordinary users with a bench token, numbered from 1. */
  readonly tokens: number;
}

const MAX_TOKENS = 10_000;
const TOKEN = "flpat-bench-";
export const administratorToken = `${TOKEN}administrator`;
export const userToken = (number: number) => `${TOKEN}${number}`;
/** Tokens of the first user, a member of many projects, and of the second, a member of the largest group. */
export const memberToken = (number: 1 | 2) => `${TOKEN}member-${number}`;
/** The digest of a numbered token, in SQL. */
export const digestInSql = (number: string) => `sha256(convert_to('${TOKEN}' || ${number}, 'UTF8'))`;

/** Starts PostgreSQL on data that is kept between runs; missing migrations and seed steps are run. */
export async function seededEngine(users: number, projects = 0, tokens = 0, issues = projects): Promise<Engine> {
  const size = { users, projects, tokens, issues };
  const counts = [users, projects, tokens, ...(issues === projects ? [] : [issues])].filter((count) => count > 0);
  const kept = join(tmpdir(), "fairlead-bench-data", counts.join("-"));
  const steps = [...seeds, benchTokens];
  const record = join(kept, "steps.json");
  if (!existsSync(record) || isOutdated({ record, steps, size })) {
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(kept, { recursive: true });
    chmodSync(kept, 0o755);
    progress(`Creating users, projects, tokens and issues (${counts.join(", ")}), kept in ${kept}`);
  }
  const engine = await start(kept);
  try {
    await prepare(engine.url, join(kept, "fairlead"), record);
    const onStep = (step: string) => progress(`Seeding ${step}`);
    const done = await bringUpToDate({ url: engine.url, record, steps, size, onStep });
    if (done.migrations.length + done.steps.length > 0) {
      await query(engine.url, "vacuum analyze");
      await query(engine.url, "checkpoint");
    }
    return { ...engine, tokens: await countTokens(engine.url) };
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    const { message } = error as Error;
    throw new Error(`${message} (kept in ${kept}; without that directory it is recreated)`, { cause: error });
  }
}

/** Creates the first administrator, like a new installation. */
async function prepare(url: string, dataDir: string, record: string) {
  if (existsSync(record)) return;
  const settings = { FAIRLEAD_DATABASE_URL: url, FAIRLEAD_DATA_DIR: dataDir };
  await runFairlead(["migrate"], settings);
  await runFairlead(["setup"], settings);
}

async function countTokens(url: string): Promise<number> {
  const { rows } = await query<{ count: number }>(
    url,
    `select count(*)::int from personal_access_tokens where token_digest <> ${digestInSql("'administrator'")}
     and name = '${TOKEN}'`,
  );
  const tokens = rows[0]?.count ?? 0;
  if (tokens === 0) throw new Error("The seed created no ordinary user who can sign in");
  return tokens;
}

async function start(kept: string): Promise<Omit<Engine, "tokens">> {
  const dataDir = join(kept, "postgres");
  const { url, stop } = await startServer({
    dataDir,
    settings: {
      shared_buffers: "2GB",
      work_mem: "32MB",
      maintenance_work_mem: "512MB",
      max_wal_size: "8GB",
      random_page_cost: 1.1,
      jit: "off",
      fsync: "on",
      logging_collector: "on",
      log_destination: "jsonlog",
      log_directory: dataDir,
      log_filename: "statements",
      log_rotation_age: 0,
      log_rotation_size: 0,
    },
  });
  const pid = Number(readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n", 1)[0]);
  return { url, pid, log: join(dataDir, "statements.json"), [Symbol.asyncDispose]: stop };
}

/** The tokens that the benches sign in with. */
const benchTokens: SeedStep<SeedSize> = {
  name: "tokens of the benches",
  tables: ["personal_access_tokens"],
  statements: () => [
    {
      // Users all over the table, so that no two tokens lead to one page of it.
      text: `
        insert into personal_access_tokens (user_id, name, scopes, token_digest)
        select id, '${TOKEN}', '{api}', ${digestInSql("row_number() over (order by md5(id::text))")}
        from users where state = 'active' and user_type = 'human' and not admin and confirmed_at is not null
          and not password_expired
        order by md5(id::text) limit ${MAX_TOKENS}`,
    },
    {
      text: `
        insert into personal_access_tokens (user_id, name, scopes, token_digest)
        select id, '${TOKEN}', '{api}', ${digestInSql("'administrator'")}
        from users where admin and state = 'active' and user_type = 'human' order by id limit 1`,
    },
    {
      text: `
        with first as (
          select id, row_number() over (order by id) as n from users where user_type = 'human' and not admin
          order by id limit 2
        ), alive as (update users set state = 'active', external = false from first where users.id = first.id)
        insert into personal_access_tokens (user_id, name, scopes, token_digest)
        select id, 'member', '{api}', ${digestInSql("'member-' || n")} from first`,
    },
  ],
  clear: `delete from personal_access_tokens where name in ('${TOKEN}', 'member')`,
};

export async function query<Row extends object>(url: string, text: string): Promise<{ rows: Row[] }> {
  const db = new Client(url);
  await db.connect();
  try {
    return await db.query<Row>(text);
  } finally {
    await db.end();
  }
}
