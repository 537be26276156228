import { sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import { isAvailableIn, type LabelContainer } from "#domains/planning/items/containers.ts";

/** The current day in UTC. */
export const today = sql`(now() at time zone 'UTC')::date`;

/** The milestones, as rows of `m`, with where their container is on the site. */
export const milestones = (db: Db) =>
  db
    .selectFrom("milestones as m")
    .leftJoin("projects as mp", "mp.id", "m.project_id")
    .innerJoin("namespaces as mn", (join) => join.on("mn.id", "=", sql<number>`coalesce(m.group_id, mp.namespace_id)`))
    .select(["m.id", "m.iid", "m.project_id", "m.group_id", "m.title", "m.description", "m.state"])
    .select(["m.created_at", "m.updated_at", "m.due_date", "m.start_date"])
    .select(sql<boolean>`coalesce(m.due_date < ${today}, false)`.as("expired"))
    .select(
      sql<string>`case when m.group_id is null then ${fullPath("mn")} || '/' || mp.path
        else 'groups/' || ${fullPath("mn")} end`.as("container_path"),
    );

export type MilestoneRow = Awaited<ReturnType<ReturnType<typeof milestones>["executeTakeFirstOrThrow"]>>;

/** The milestone of a project or group itself, not of the groups above. */
const ownMilestone = (db: Db, container: LabelContainer, id: number) =>
  milestones(db)
    .where("m.id", "=", id)
    .where(
      "project_id" in container
        ? sql<boolean>`m.project_id = ${container.project_id}`
        : sql<boolean>`m.group_id = ${container.group_id}`,
    );

export const requireMilestone = async (db: Db, container: LabelContainer, id: number): Promise<MilestoneRow> =>
  (await ownMilestone(db, container, id).executeTakeFirst()) ?? noMilestone();

/** The same, locked against other changes; issues can still get it. */
export const lockMilestone = async (tx: Tx, container: LabelContainer, id: number): Promise<MilestoneRow> =>
  (await ownMilestone(tx, container, id).forNoKeyUpdate("m").executeTakeFirst()) ?? noMilestone();

/** The same, once no other transaction gives it to an issue. */
export const lockMilestoneToDelete = async (tx: Tx, container: LabelContainer, id: number): Promise<MilestoneRow> =>
  (await ownMilestone(tx, container, id).forUpdate("m").executeTakeFirst()) ?? noMilestone();

function noMilestone(): never {
  throw missing("Milestone");
}

export const milestoneById = (db: Db, id: number): Promise<MilestoneRow> =>
  milestones(db).where("m.id", "=", id).executeTakeFirstOrThrow();

/** The milestones that a container may use: its own and those of the groups above. */
export const availableMilestones = (db: Db, container: LabelContainer) =>
  milestones(db).where(isAvailableIn(container, "m"));
