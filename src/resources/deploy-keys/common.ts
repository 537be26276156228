import { type RawBuilder, sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { LEVELS } from "#access/roles.ts";
import { belongsTo, partsOf } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { FARTHEST } from "#http/hits.ts";
import { COUNTED } from "#http/paging.ts";
import { forbidden } from "#lib/refusal.ts";
import { deployKeys } from "./queries.ts";

export const nothingInCommon = () => forbidden("No common authorized project found");

const least = LEVELS.maintainer;

/** The keys of the projects where both a caller and a user are at least Maintainer, and how they are paged. */
export async function deployKeysInCommon(db: Db, actor: Actor, userId: number) {
  const keys = deployKeys(db);
  const ids = await keysFew(db, actor, userId);
  if (ids === undefined) {
    // So many that whoever walks all keys meets enough of them soon.
    const query = keys.where(isInCommon(actor, userId));
    return { query, options: { total: Infinity, offsetLimit: FARTHEST } };
  }
  if (ids.length === 0) await refuseNothingInCommon(db, actor, userId);
  return { query: keys.where(sql<boolean>`k.id = any(${ids}::bigint[])`), options: { total: ids.length } };
}

/** The ids of those keys, unless they are too many to be named. */
async function keysFew(db: Db, actor: Actor, userId: number): Promise<number[] | undefined> {
  // The offset is a fence: projects are looked up in keys one by one, and no further than it takes.
  const { rows } = await sql<{ key_id: number }>`
    select d.key_id from (select p.id from ${commonProjects(actor, userId)}) common cross join lateral (
      select d.key_id from deploy_keys_projects d where d.project_id = common.id offset 0) d
    limit ${sql.lit(COUNTED + 1)}`.execute(db);
  return rows.length > COUNTED ? undefined : [...new Set(rows.map(({ key_id }) => key_id))];
}

async function refuseNothingInCommon(db: Db, actor: Actor, userId: number) {
  const { rows } = await sql`select from ${commonProjects(actor, userId)} limit 1`.execute(db);
  if (rows.length === 0) throw nothingInCommon();
}

/** Those projects as `p`, from the user's; administrators are Maintainers everywhere. */
const commonProjects = (actor: Actor, userId: number): RawBuilder<unknown> => sql`
  (${sql.join(partsOf(userId, { least }), sql` union all `)}) p where ${ofCaller(actor, userId)}`;

const isInCommon = (actor: Actor, userId: number) => sql<boolean>`exists (
  select from deploy_keys_projects d join projects p on p.id = d.project_id
  where d.key_id = k.id and ${belongsTo(userId, least)} and ${ofCaller(actor, userId)})`;

const ofCaller = (actor: Actor, userId: number) =>
  isAdministrator(actor) || actor.user.id === userId ? sql`true` : belongsTo(actor.user.id, least);
