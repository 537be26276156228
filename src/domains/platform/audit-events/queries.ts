import { sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import type { ENTITIES, EventFilters } from "./params.ts";

type EntityType = (typeof ENTITIES)[number];

/** All events; lists order them by `(created_at, id)`, the order in which the partitions can be scanned. */
export const auditEvents = (db: Db) =>
  db
    .selectFrom("audit_events as e")
    .select([
      "e.id",
      "e.created_at",
      "e.event",
      "e.actor_id",
      "e.actor_name",
      "e.sudo_actor_id",
      "e.target_type",
      "e.target_id",
      "e.target_name",
      "e.entity_type",
      "e.entity_id",
      "e.details",
      "e.ip_address",
      "e.request_id",
    ]);

type Events = ReturnType<typeof auditEvents>;
export type AuditRow = Awaited<ReturnType<Events["executeTakeFirstOrThrow"]>>;

export interface Entity {
  readonly type: EntityType;
  /** If absent, all entities of this type. */
  readonly id?: number | undefined;
}

/** The events of one entity or of a whole type; a literal type lets the planner know how rare it is. */
export const ofEntity = (events: Events, { type, id }: Entity): Events =>
  id === undefined
    ? events.where("e.entity_type", "=", sql.lit(type))
    : events.where("e.entity_type", "=", type).where("e.entity_id", "=", id);

/** Limits events to a time range, both ends included. */
export function between(events: Events, { created_after, created_before }: Static<typeof EventFilters>): Events {
  const later = created_after === undefined ? events : events.where("e.created_at", ">=", created_after);
  return created_before === undefined ? later : later.where("e.created_at", "<=", created_before);
}

/** Looks up the current paths of the users, groups and projects that some events concern. */
export async function pathsOf(db: Db, rows: readonly AuditRow[]): Promise<(row: AuditRow) => string | undefined> {
  const idsOf = (type: EntityType) => rows.filter((row) => row.entity_type === type).map((row) => row.entity_id);
  const { rows: found } = await sql<{ type: EntityType; id: number; path: string }>`
    select 'User' as type, id, username as path from users where id = any(${idsOf("User")})
    union all
    select 'Group', n.id, ${fullPath("n")} from namespaces n where n.id = any(${idsOf("Group")}) and n.kind = 'group'
    union all
    select 'Project', p.id, ${fullPath("n")} || '/' || p.path
    from projects p join namespaces n on n.id = p.namespace_id where p.id = any(${idsOf("Project")})`.execute(db);
  const paths = new Map(found.map(({ type, id, path }) => [`${type} ${id}`, path]));
  return ({ entity_type, entity_id }) => paths.get(`${entity_type} ${entity_id}`);
}
