import type { Db } from "#db/database.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import type { Answer } from "#domains/conversation/items/answer.ts";
import { textsOf } from "#domains/conversation/items/descriptions.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import { type Note, presentNote } from "./entity.ts";
import { noNote, type NoteRow } from "./queries.ts";

export interface NoteViewer extends Answer {
  readonly site: string;
}

/** Presents notes of one item in the order of the rows, with one statement for all bodies and one for all authors. */
export async function noteViews(
  db: Db,
  rows: readonly NoteRow[],
  of: ItemSeen,
  { site, ...answer }: NoteViewer,
): Promise<Note[]> {
  const bodies = await textsOf(
    db,
    "notes",
    rows.flatMap(({ id, body }) => (body === undefined ? id : [])),
    answer,
  );
  const authorIds = rows.map(({ author_id }) => author_id);
  const authors = await usersById(db, authorIds, site);
  return rows.flatMap((row) => {
    // A note may have been deleted since its row was read.
    const body = row.body ?? bodies.get(row.id);
    return body === undefined ? [] : presentNote({ ...row, body }, of, authors.get(row.author_id));
  });
}

export async function noteView(db: Db, row: NoteRow, of: ItemSeen, viewer: NoteViewer): Promise<Note> {
  const [view] = await noteViews(db, [row], of, viewer);
  return view ?? noNote();
}
