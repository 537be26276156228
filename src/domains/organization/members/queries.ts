import { type RawBuilder, sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import { groupVisibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { type SummaryRow, summaryColumns } from "#domains/identity/users/queries.ts";
import type { MemberContainer } from "./access.ts";

/** The groups whose members are members here, each with the highest level that it gives. */
export interface Sources {
  readonly groups: readonly number[];
  readonly most: readonly number[];
}

/** Only direct members. */
export const directOnly = (container: MemberContainer): Sources =>
  container.kind === "group" ? { groups: [container.id], most: [LEVELS.owner] } : { groups: [], most: [] };

/**
 * The groups above, those that it or a group above is shared with, and the groups above those. A group that the caller
 * may not see contributes nobody: its members are as private as the group.
 */
export async function everySource(db: Db, actor: Actor | null, container: MemberContainer): Promise<Sources> {
  const { rows } = await sql<{ id: number; most: number }>`
    select n.id, max(most) as most from (
      select unnest(${container.traversal_ids}::bigint[]) as id, ${sql.lit(LEVELS.owner)} as most
      union all
      select unnest(w.traversal_ids), s.access_level from shares s join namespaces w on w.id = s.with_group_id
      where (s.group_id = any(${container.traversal_ids}::bigint[]) or s.project_id = ${ownProject(container)})
        and ${sql.raw(live("s"))}
    ) sources join namespaces n using (id)
    where n.id = ${ownGroup(container)} or ${groupVisibleTo(actor)}
    group by n.id order by n.id`.execute(db);
  return { groups: rows.map(({ id }) => id), most: rows.map(({ most }) => most) };
}

export const ownGroup = ({ kind, id }: MemberContainer) => (kind === "group" ? id : null);
export const ownProject = ({ kind, id }: MemberContainer) => (kind === "project" ? id : null);

/** Whether a membership counts here: minimal access counts only in its own group. */
export const counts = (container: MemberContainer): RawBuilder<boolean> =>
  sql`${sql.raw(live("m"))} and (m.access_level >= ${sql.lit(LEVELS.guest)} or m.group_id = ${ownGroup(container)})`;

interface Membership {
  readonly access_level: number;
  readonly created_at: string;
  readonly created_by_id: number | null;
  readonly expires_at: string | null;
}

export type MemberRow = SummaryRow & Membership;

/** The members, each once with their highest level; the direct membership wins a tie. */
export function members(db: Db, container: MemberContainer, { groups, most }: Sources) {
  const ways = sql<Membership>`(
    select level as access_level, created_at, created_by_id, expires_at from (
      select m.*, least(m.access_level, s.most) as level
      from unnest(${groups}::bigint[], ${most}::smallint[]) s (group_id, most) join members m using (group_id)
      where m.user_id = u.id and ${counts(container)}
      union all
      select m.*, m.access_level from members m
      where m.project_id = ${ownProject(container)} and m.user_id = u.id and ${sql.raw(live("m"))}
    ) m order by level desc, project_id nulls last, group_id = ${ownGroup(container)} desc, id limit 1)`;
  return db
    .selectFrom("users as u")
    .innerJoinLateral(ways.as("w"), (join) => join.onTrue())
    .select([...summaryColumns, "w.access_level", "w.created_at", "w.created_by_id", "w.expires_at"]);
}
