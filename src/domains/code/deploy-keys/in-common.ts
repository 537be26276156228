import { type RawBuilder, sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { LEVELS } from "#access/roles.ts";
import { belongsTo, memberProjects } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import type { Listing, Rows } from "#db/lists/list-page.ts";
import { forbidden } from "#lib/refusal.ts";

export const noCommonProject = () => forbidden("No common authorized project found");

const least = LEVELS.maintainer;

/** The keys of the projects where both the caller and a user are at least Maintainer. */
export const listInCommon = (actor: Actor, userId: number): Listing => ({
  from: "keys as k",
  sources: [{ scan: sql`(select k.* from keys k where k.kind = 'deploy')`, lookup: keysInCommon(actor, userId) }],
  filters: [isInCommon(actor, userId)],
});

// `offset 0` keeps the planner from merging the subquery: the keys of each project are found by its index.
const keysInCommon = (actor: Actor, userId: number): Rows => sql`(
  select k.* from (
    select distinct d.key_id from (select p.id from ${commonProjects(actor, userId)}) common cross join lateral (
      select d.key_id from deploy_keys_projects d where d.project_id = common.id offset 0) d
  ) d join keys k on k.id = d.key_id)`;

export async function requireCommonProject(db: Db, actor: Actor, userId: number) {
  const { rows } = await sql`select from ${commonProjects(actor, userId)} limit 1`.execute(db);
  if (rows.length === 0) throw noCommonProject();
}

/** The projects, as `p`, where both are at least Maintainer; administrators are Maintainers everywhere. */
const commonProjects = (actor: Actor, userId: number): RawBuilder<unknown> => sql`
  (${sql.join(
    memberProjects(userId, { minLevel: least }).map(({ scan }) => scan),
    sql` union all `,
  )}) p where ${ofCaller(actor, userId)}`;

const isInCommon = (actor: Actor, userId: number) => sql<boolean>`exists (
  select from deploy_keys_projects d join projects p on p.id = d.project_id
  where d.key_id = k.id and ${belongsTo(userId, least)} and ${ofCaller(actor, userId)})`;

const ofCaller = (actor: Actor, userId: number) =>
  isAdministrator(actor) || actor.user.id === userId ? sql`true` : belongsTo(actor.user.id, least);
