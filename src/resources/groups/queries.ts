import { sql } from "kysely";
import type { Actor } from "#access/actor.ts";
import { live } from "#access/levels.ts";
import { groupVisibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { fullName, fullPath } from "#resources/namespaces/queries.ts";

const archived = sql<boolean>`exists (select from namespaces a where a.id = any(n.traversal_ids) and a.archived)`;

/** What every view of a group shows, for statements with `namespaces` as `n`. */
export const groupColumns = [
  "n.id",
  "n.name",
  "n.path",
  "n.description",
  "n.visibility",
  "n.parent_id",
  "n.project_creation_level",
  "n.subgroup_creation_level",
  "n.preferences",
  "n.avatar_file",
  "n.created_at",
  sql<string | null>`(n.marked_for_deletion_at at time zone 'UTC')::date`.as("marked_for_deletion_on"),
  fullPath("n").as("full_path"),
  fullName("n").as("full_name"),
  archived.as("archived"),
] as const;

export const groups = (db: Db) => db.selectFrom("namespaces as n").select(groupColumns);

export type Groups = ReturnType<typeof groups>;
export type GroupRow = Awaited<ReturnType<Groups["executeTakeFirstOrThrow"]>>;

/** The groups that a group is shared with, as far as the caller may know of them. */
export const sharesOf = (db: Db, actor: Actor | null, groupId: number) =>
  db
    .selectFrom("shares as s")
    .innerJoin("namespaces as n", "n.id", "s.with_group_id")
    .select(["s.with_group_id", "s.access_level", "s.expires_at", "n.name", fullPath("n").as("full_path")])
    .where("s.group_id", "=", groupId)
    .where(sql<boolean>`${sql.raw(live("s"))}`)
    .where(groupVisibleTo(actor))
    .orderBy("s.id")
    .execute();

export type ShareRow = Awaited<ReturnType<typeof sharesOf>>[number];
