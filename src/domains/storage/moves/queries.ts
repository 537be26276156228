import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { type Owner, OWNERS } from "./schedule.ts";

/** The moves of repositories of one kind of owner. */
export const movesOf = (db: Db, owner: Owner) =>
  db
    .selectFrom("repository_storage_moves as m")
    .select([
      "m.id",
      "m.repository_id",
      "m.project_id",
      "m.snippet_id",
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
    ])
    .where(`m.${OWNERS[owner]}`, "is not", null);

export type MoveRow = Awaited<ReturnType<ReturnType<typeof movesOf>["executeTakeFirstOrThrow"]>>;

export const movesOfRepository = (db: Db, owner: Owner, repositoryId: number) =>
  movesOf(db, owner).where("m.repository_id", "=", repositoryId);

export async function oneMove(moves: ReturnType<typeof movesOf>, id: number): Promise<MoveRow> {
  const move = await moves.where("m.id", "=", id).executeTakeFirst();
  if (!move) throw missing("Repository storage move");
  return move;
}
