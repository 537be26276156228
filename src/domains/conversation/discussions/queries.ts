import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { order } from "#db/lists/order.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import { noteVisibleIn } from "#domains/conversation/notes/visibility.ts";
import { noNote, type NoteRow, visibleNotes } from "#domains/conversation/notes/queries.ts";
import { firstNoteOf } from "./ids.ts";

export const PAGING = {
  id: "note.id",
  orders: { created_at: order("note.created_at", "timestamptz") },
  keyset: ["created_at"],
} as const;

/** The first notes of the discussions of an item that an actor may see; the note that began one may be deleted. */
export const listDiscussions = (of: ItemSeen): Listing => ({
  from: "notes as note",
  sources: [
    {
      scan: sql`(select note.* from notes note
        where ${sql.ref(`note.${of.kind.column}`)} = ${of.id} and ${noteVisibleIn(of)}
          and (note.discussion_id is null or not exists (
            select from notes earlier where earlier.discussion_id = note.discussion_id and earlier.id < note.id)))`,
    },
  ],
});

/** The notes of a discussion of an item, the oldest first. If there are none, it is answered like a missing one. */
export async function requireDiscussion(db: Db, of: ItemSeen, discussionId: string): Promise<[NoteRow, ...NoteRow[]]> {
  const began = firstNoteOf(discussionId);
  if (began === undefined) return noNote();
  const [first, ...others] = await visibleNotes(db, of)
    .where(sql<boolean>`(note.discussion_id = ${began} or (note.id = ${began} and note.discussion_id is null))`)
    .orderBy("note.id")
    .execute();
  return first ? [first, ...others] : noNote();
}

/** A note of a discussion, by its id. */
export const noteIn = (discussion: readonly NoteRow[], id: number): NoteRow =>
  discussion.find((note) => note.id === id) ?? noNote();

/** All notes of the discussions that some notes are the first of, each discussion in the order of its notes. */
export async function discussionsOf(db: Db, of: ItemSeen, firsts: readonly NoteRow[]): Promise<NoteRow[][]> {
  const ids = firsts.flatMap(({ discussion_id }) => discussion_id ?? []);
  const replies =
    ids.length === 0
      ? []
      : await visibleNotes(db, of)
          .where("note.discussion_id", "=", sql<number>`any(${ids}::bigint[])`)
          .orderBy("note.id")
          .execute();
  const byDiscussion = Map.groupBy(replies, ({ discussion_id }) => discussion_id);
  return firsts.map((first) =>
    first.discussion_id === null ? [first] : (byDiscussion.get(first.discussion_id) ?? [first]),
  );
}
