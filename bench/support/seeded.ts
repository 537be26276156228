import { createHash } from "node:crypto";
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { startServer } from "#db/server.ts";
import { progress } from "./figures.ts";
import { runFairlead } from "./processes.ts";

/** A PostgreSQL full of users, with its first process and its log of statements. */
export interface Engine extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly log: string;
  /** How many ordinary users have a token of the benches, numbered from 1. */
  readonly tokens: number;
}

const MOST_TOKENS = 10_000;
const TOKEN = "flpat-bench-";
export const administratorToken = `${TOKEN}administrator`;
export const userToken = (number: number) => `${TOKEN}${number}`;
/** Of the first user, a member of many projects, and of the second, a member of the largest group. */
export const memberToken = (number: 1 | 2) => `${TOKEN}member-${number}`;
/** The digest of the token that a number stands for, in SQL. */
export const digestInSql = (number: string) => `sha256(convert_to('${TOKEN}' || ${number}, 'UTF8'))`;

/** Starts the engine on data that is kept between runs, and made anew once the schema or the seed has changed. */
export async function seededEngine(users: number, projects = 0, tokensToo = 0): Promise<Engine> {
  const counts = [users, projects, tokensToo].filter((count) => count > 0);
  const kept = join(tmpdir(), "fairlead-bench-data", counts.join("-"));
  const mark = join(kept, "made-from");
  const wanted = checksum();
  if (!existsSync(mark) || readFileSync(mark, "utf8") !== wanted) {
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(kept, { recursive: true });
    chmodSync(kept, 0o755);
    const shown = counts.map((count) => count.toLocaleString("en")).join(", ");
    progress(`Making users, projects and tokens (${shown}), kept in ${kept}`);
    await using engine = await start(kept);
    await seed(engine.url, join(kept, "fairlead"), [users, projects, tokensToo]);
    writeFileSync(mark, wanted);
  }
  const engine = await start(kept);
  const { rows } = await query<{ count: number }>(
    engine.url,
    `select count(*)::int from personal_access_tokens where token_digest <> ${digestInSql("'administrator'")}
     and name = '${TOKEN}'`,
  );
  const tokens = rows[0]?.count ?? 0;
  if (tokens === 0) throw new Error("The seed made no ordinary user who can sign in");
  return { ...engine, tokens };
}

function checksum(): string {
  const root = join(import.meta.dirname, "../..");
  const sources = [
    ...globSync(join(root, "migrations/*.sql")),
    ...globSync(join(root, "src/**/seed*.ts")),
    import.meta.filename,
  ];
  const sum = createHash("sha256");
  for (const file of sources.toSorted()) sum.update(readFileSync(file));
  return sum.digest("hex");
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

async function seed(url: string, dataDir: string, [users, projects, tokens]: readonly [number, number, number]) {
  const settings = { FAIRLEAD_DATABASE_URL: url, FAIRLEAD_DATA_DIR: dataDir };
  await runFairlead(["migrate"], settings);
  await runFairlead(["setup"], settings);
  const counts = ["--users", users, "--projects", projects, "--tokens", tokens].map(String);
  await runFairlead(["seed", ...counts], settings);
  // Users all over the table, so that no two tokens lead to one page of it.
  await query(
    url,
    `insert into personal_access_tokens (user_id, name, scopes, token_digest)
     select id, '${TOKEN}', '{api}', ${digestInSql("row_number() over (order by md5(id::text))")}
     from users where state = 'active' and user_type = 'human' and not admin and confirmed_at is not null
       and not password_expired
     order by md5(id::text) limit ${MOST_TOKENS}`,
  );
  await query(
    url,
    `insert into personal_access_tokens (user_id, name, scopes, token_digest)
     select id, '${TOKEN}', '{api}', ${digestInSql("'administrator'")}
     from users where admin and state = 'active' and user_type = 'human' order by id limit 1`,
  );
  await query(
    url,
    `with first as (select id, row_number() over (order by id) as n from users where user_type = 'human' and not admin
       order by id limit 2),
     alive as (update users set state = 'active', external = false from first where users.id = first.id)
     insert into personal_access_tokens (user_id, name, scopes, token_digest)
     select id, 'member', '{api}', ${digestInSql("'member-' || n")} from first`,
  );
  progress("Vacuum and analyze");
  await query(url, "vacuum analyze");
  await query(url, "checkpoint");
}

export async function query<Row extends object>(url: string, text: string): Promise<{ rows: Row[] }> {
  const db = new Client(url);
  await db.connect();
  try {
    return await db.query<Row>(text);
  } finally {
    await db.end();
  }
}
