import { sql } from "kysely";
import { hasRole } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import type { WriteContext } from "#http/endpoint.ts";
import { unprocessable } from "#lib/refusal.ts";
import { type EventPlace, recordEvent } from "#domains/foundation/events/record.ts";
import type { Item, ItemWrite, NotifyingWrite } from "#domains/conversation/items/item.ts";
import { createNotes } from "./create.ts";
import type { ItemSeen, WritableItem } from "#domains/conversation/items/resource.ts";
import { requireSeesInternal } from "./visibility.ts";
import type { NewNote } from "./params.ts";
import { lockNote, noNote, type NoteRow } from "./queries.ts";
import { refuseChange, refuseIfLocked, refuseRemoval } from "./rights.ts";

/** A discussion of more is read by nobody, and each list counts and orders them all. */
const MAX_COMMENTS = 5000;

/** What the audit log says of a note: its number would tell nobody where it is. */
export const noteTarget = ({ kind, place, container, iid }: ItemSeen, id: number) =>
  ({
    type: "Note",
    id,
    name: `${kind.sign}${iid}`,
    entity: { type: place === "project" ? "Project" : "Group", id: container.id },
  }) as const;

/** Comments on an issue or epic. A reply names the note that began the discussion. */
export async function createComment(
  { ignored, ...write }: ItemWrite,
  of: WritableItem,
  params: NewNote,
  discussionId?: number,
): Promise<NoteRow> {
  const { tx } = write;
  refuseIfLocked(of);
  const internal = params.internal ?? params.confidential ?? false;
  if (internal) requireSeesInternal(of.container, of.actor, of.place);
  const mayDate = hasRole(of.actor, of.container, "owner");
  if (params.created_at !== undefined && !mayDate) ignored("created_at");
  await lockItem(tx, of, internal);
  await refuseMore(tx, of);
  const createdAt = mayDate ? params.created_at : undefined;
  const authorId = of.actor.user.id;
  const [note] = await createNotes(tx, of, [{ body: params.body, authorId, internal, createdAt, discussionId }]);
  if (!note) return noNote();
  await recordEvent(tx, authorId, "commented", placeOf(of), { type: "Note", id: note.id });
  await of.kind.commented(write, of, authorId, note);
  return note;
}

const placeOf = ({ place, container }: ItemSeen): EventPlace =>
  place === "project" ? { project_id: container.id } : { group_id: container.id };

/** Changes the body of a note. Its time of change stays the same if the body does. */
export async function changeNote(
  { audit, ...write }: NotifyingWrite & Pick<WriteContext, "audit">,
  of: WritableItem,
  id: number,
  body: string,
): Promise<NoteRow> {
  const { tx } = write;
  const note = await lockNote(tx, of, id);
  refuseChange(of, note);
  if (note.body === body) return note;
  audit({ ...noteTarget(of, id), writtenBy: note.author_id });
  const { updated_at } = await tx
    .updateTable("notes")
    .set({ body, updated_at: sql`now()` })
    .where("id", "=", id)
    .returning("updated_at")
    .executeTakeFirstOrThrow();
  const changed = { ...note, body, updated_at };
  await of.kind.commented(write, of, of.actor.user.id, changed, note.body);
  return changed;
}

export async function deleteNote(tx: Tx, of: WritableItem, id: number): Promise<NoteRow> {
  const note = await lockNote(tx, of, id);
  refuseRemoval(of, note);
  await tx.deleteFrom("notes").where("id", "=", id).execute();
  return note;
}

/**
 * Locks an item, so that those who comment at once are counted one after another, and sets its time of change, unless
 * the comment is internal: the time would tell of it to those who may not read it.
 */
async function lockItem(tx: Tx, item: Item, internal: boolean) {
  const table = sql.table(item.kind.table);
  await (
    internal
      ? sql`select from ${table} where id = ${item.id} for no key update`
      : sql`update ${table} set updated_at = now() where id = ${item.id}`
  ).execute(tx);
}

async function refuseMore(tx: Tx, { kind, id }: ItemSeen) {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from notes where ${sql.ref(kind.column)} = ${id} and not system limit ${sql.lit(MAX_COMMENTS)}) some_notes`.execute(
    tx,
  );
  if ((rows[0]?.count ?? 0) >= MAX_COMMENTS) {
    throw unprocessable(`An ${kind.word} has at most ${MAX_COMMENTS} comments`);
  }
}
