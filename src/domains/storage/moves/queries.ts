import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { type Owner, OWNERS } from "./schedule.ts";

/** What is in a repository. */
export const REPOSITORY_TYPES = ["code", "wiki", "snippet"] as const;
type RepositoryType = (typeof REPOSITORY_TYPES)[number];

/** The moves of repositories of one kind of owner. */
export const movesOf = (db: Db, owner: Owner) =>
  db
    .selectFrom("repository_storage_moves as m")
    .innerJoin("repositories as r", "r.id", "m.repository_id")
    .select([
      "m.id",
      "m.repository_id",
      "m.project_id",
      "m.snippet_id",
      "m.group_id",
      "m.state",
      "m.source_storage",
      "m.destination_storage",
      "m.error_message",
      "m.phase",
      "m.bytes",
      "m.total_bytes",
      "m.created_at",
      "m.started_at",
      "m.finished_at",
      sql<RepositoryType>`case when r.project_id is not null then 'code' when r.snippet_id is not null then 'snippet'
        else 'wiki' end`.as("repository_type"),
    ])
    .where(`m.${OWNERS[owner].column}`, "is not", null);

export type MoveRow = Awaited<ReturnType<ReturnType<typeof movesOf>["executeTakeFirstOrThrow"]>>;

export const movesOfOwner = (db: Db, owner: Owner, id: number) =>
  movesOf(db, owner).where(`m.${OWNERS[owner].column}`, "=", id);

export async function oneMove(moves: ReturnType<typeof movesOf>, id: number): Promise<MoveRow> {
  const move = await moves.where("m.id", "=", id).executeTakeFirst();
  if (!move) throw missing("Repository storage move");
  return move;
}
