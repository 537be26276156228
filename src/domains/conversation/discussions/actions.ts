import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { badRequest } from "#lib/refusal.ts";
import type { ItemWrite } from "#domains/conversation/items/item.ts";
import type { WritableItem } from "#domains/conversation/items/resource.ts";
import { createComment } from "#domains/conversation/notes/actions.ts";
import type { NewNote } from "#domains/conversation/notes/params.ts";
import type { NoteRow } from "#domains/conversation/notes/queries.ts";
import type { Reply } from "./params.ts";
import { requireDiscussion } from "./queries.ts";

/** Comments on an item in a way that others can reply to. */
export async function beginDiscussion(write: ItemWrite, of: WritableItem, params: NewNote): Promise<NoteRow> {
  const note = await createComment(write, of, params);
  await makeReplyable(write.tx, note.id);
  return { ...note, discussion_id: note.id };
}

/** Replies in a discussion; what is said in reply to an internal note is internal as well. */
export async function replyIn(write: ItemWrite, of: WritableItem, params: Reply): Promise<NoteRow> {
  const [first] = await requireDiscussion(write.tx, of, params.discussion_id);
  if (first.system) throw badRequest("A system note has no replies");
  if (first.discussion_id === null) await makeReplyable(write.tx, first.id);
  const { discussion_id: _, ...draft } = params;
  return createComment(write, of, { ...draft, internal: first.internal }, first.discussion_id ?? first.id);
}

/** A note begins its own discussion from the first reply on. */
async function makeReplyable(tx: Tx, noteId: number) {
  await tx
    .updateTable("notes")
    .set({ discussion_id: sql<number>`id` })
    .where("id", "=", noteId)
    .execute();
}
