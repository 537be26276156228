import { sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import { noteVisibleIn } from "./visibility.ts";

/** Notes without their bodies, as rows of `note`. */
export const notes = (db: Db) =>
  db
    .selectFrom("notes as note")
    .select(["note.id", "note.author_id", "note.created_at", "note.updated_at", "note.system", "note.internal"])
    .select("note.discussion_id");

export type NoteRow = Awaited<ReturnType<ReturnType<typeof notes>["executeTakeFirstOrThrow"]>> & {
  readonly body?: string;
};

/** Finds a note of an item; one that the actor may not see is answered like a missing one. */
export const requireNote = async (db: Db, of: ItemSeen, id: number): Promise<NoteRow> =>
  (await visibleNote(db, of, id).executeTakeFirst()) ?? noNote();

/** The same with its body, locked against other changes. */
export const lockNote = async (tx: Tx, of: ItemSeen, id: number): Promise<NoteRow & { readonly body: string }> =>
  (await visibleNote(tx, of, id).select("note.body").forUpdate("note").executeTakeFirst()) ?? noNote();

/** The notes of an item that an actor may see. */
export const visibleNotes = (db: Db, of: ItemSeen) =>
  notes(db)
    .where(sql<boolean>`${sql.ref(`note.${of.kind.column}`)} = ${of.id}`)
    .where(noteVisibleIn(of));

const visibleNote = (db: Db, of: ItemSeen, id: number) => visibleNotes(db, of).where("note.id", "=", id);

export const noNote = (): never => {
  throw new Refusal("missing", "404 Not found");
};
