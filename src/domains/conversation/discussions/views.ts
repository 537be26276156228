import type { Db } from "#db/database.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import { noNote, type NoteRow } from "#domains/conversation/notes/queries.ts";
import { type NoteViewer, noteViews } from "#domains/conversation/notes/views.ts";
import type { Discussion } from "./entity.ts";
import { discussionIdOf } from "./ids.ts";

/** Presents discussions in their order, with one statement for the bodies of all notes and one for all authors. */
export async function discussionViews(
  db: Db,
  discussions: readonly (readonly NoteRow[])[],
  of: ItemSeen,
  viewer: NoteViewer,
): Promise<Discussion[]> {
  const views = new Map((await noteViews(db, discussions.flat(), of, viewer)).map((view) => [view.id, view]));
  return discussions.flatMap((rows) => {
    const [first] = rows;
    const notes = rows.flatMap(({ id }) => views.get(id) ?? []);
    if (!first || notes.length === 0) return [];
    const id = discussionIdOf(first.discussion_id ?? first.id);
    return { id, individual_note: first.discussion_id === null, notes };
  });
}

export async function discussionView(
  db: Db,
  rows: readonly NoteRow[],
  of: ItemSeen,
  viewer: NoteViewer,
): Promise<Discussion> {
  const [view] = await discussionViews(db, [rows], of, viewer);
  return view ?? noNote();
}
