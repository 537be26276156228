import { sql } from "kysely";
import { archivedAbove } from "#access/containers.ts";
import type { Db } from "#db/database.ts";
import { fullName, fullPath } from "#resources/namespaces/queries.ts";

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
  sql<boolean>`${sql.raw(archivedAbove)}`.as("archived"),
] as const;

export const groups = (db: Db) => db.selectFrom("namespaces as n").select(groupColumns);

export type Groups = ReturnType<typeof groups>;
export type GroupRow = Awaited<ReturnType<Groups["executeTakeFirstOrThrow"]>>;
