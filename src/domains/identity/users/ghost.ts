import { sql } from "kysely";
import type { Tx } from "#db/database.ts";

/** An arbitrary advisory lock number that nothing else uses. */
const LOCK = sql.lit(7219352011);
const MAX_TRIED_NAMES = 1000;

/** The id of the ghost user, who owns what deleted users created; the account is created when it is first needed. */
export async function ghostUser(tx: Tx): Promise<number> {
  const known = await findGhost(tx);
  if (known !== undefined) return known;
  await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
  return (await findGhost(tx)) ?? createGhost(tx);
}

async function findGhost(tx: Tx): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select id from users where user_type = 'ghost' order by id limit 1`.execute(tx);
  return rows[0]?.id;
}

async function createGhost(tx: Tx): Promise<number> {
  const username = await freeUsername(tx);
  const name = "Ghost User";
  const { id: namespace_id } = await tx
    .insertInto("namespaces")
    .values({ path: username, name })
    .returning("id")
    .executeTakeFirstOrThrow();
  const email = `${username}@ghost.invalid`;
  const confirmed_at = sql<string>`now()`;
  const { id } = await tx
    .insertInto("users")
    .values({ username, name, email, confirmed_at, namespace_id, user_type: "ghost", bio: "What removed users made" })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** `ghost`, or with the lowest number appended that is free. */
async function freeUsername(tx: Tx): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select name from generate_series(0, ${sql.lit(MAX_TRIED_NAMES)}) n, concat('ghost', nullif(n, 0)) name
    where not exists (select from users u where lower(u.username) = name)
      and not exists (select from users u where lower(u.email) = name || '@ghost.invalid')
      and not exists (select from routes r where r.parent_id = 0 and r.path = name and not r.moved)
    order by n limit 1`.execute(tx);
  if (!rows[0]) throw new Error("Every name for a ghost user is taken");
  return rows[0].name;
}
