import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import type { Item } from "#domains/conversation/items/item.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import { requireNote } from "#domains/conversation/notes/queries.ts";

/** An issue, an epic or a note, by the column that names it. */
export interface Awardable {
  readonly column: Item["kind"]["column"] | "note_id";
  readonly id: number;
  /** The item that it is, or that the note is on. */
  readonly of: ItemSeen;
  /** Whether it is the record of a change. */
  readonly system: boolean;
}

export const awardableItem = (of: ItemSeen): Awardable => ({ column: of.kind.column, id: of.id, of, system: false });

export async function awardableNote(db: Db, of: ItemSeen, noteId: number): Promise<Awardable> {
  const { id, system } = await requireNote(db, of, noteId);
  return { column: "note_id", id, of, system };
}

/** The awards of something, as rows of `a`. */
export const awardsOf = (db: Db, { column, id }: Awardable) =>
  db
    .selectFrom("award_emoji as a")
    .select(["a.id", "a.user_id", "a.name", "a.created_at", "a.updated_at"])
    .where(sql<boolean>`${sql.ref(`a.${column}`)} = ${id}`);

export type AwardRow = Awaited<ReturnType<ReturnType<typeof awardsOf>["executeTakeFirstOrThrow"]>>;

export const requireAward = async (db: Db, thing: Awardable, id: number): Promise<AwardRow> =>
  (await awardsOf(db, thing).where("a.id", "=", id).executeTakeFirst()) ?? noAward();

export const noAward = (): never => {
  throw new Refusal("missing", "404 Not found");
};
