import Type from "typebox";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { type ItemResource, writableItem } from "#domains/conversation/items/resource.ts";
import { changeNote, createComment, deleteNote, noteTarget } from "./actions.ts";
import { Note } from "./entity.ts";
import { listNotes, PAGING } from "./list.ts";
import { note, noteBody, noteDraft, noteFilters } from "./params.ts";
import { notes, requireNote } from "./queries.ts";
import { noteView, noteViews } from "./views.ts";

/** The endpoints for the notes on items of one kind. */
export function noteEndpoints(kind: ItemResource) {
  const { list, create } = collectionEndpoints(kind);
  const { get, ...changes } = singleNoteEndpoints(kind);
  return { list, get, create, ...changes };
}

function collectionEndpoints(kind: ItemResource) {
  const { path, one, availability, reader, writer, find } = kind;
  const ofItem = kind.params.properties;
  return {
    list: endpoint({
      method: "GET",
      path: `${path}/notes`,
      summary: `List the notes of ${one}: its comments and the record of its changes`,
      ...availability,
      access: reader,
      params: Type.Object({ ...ofItem, ...noteFilters }),
      returns: pageOf(Note, PAGING),
      async handle({ db, page, params, ...seen }) {
        const of = await find(db, seen, params);
        return noteViews(db, await page.rows(notes(db), listNotes(of, params)), of, seen);
      },
    }),

    create: endpoint({
      method: "POST",
      path: `${path}/notes`,
      summary: `Comment on ${one}; where the discussion is locked only members do`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofItem, ...noteDraft }),
      returns: Note,
      audit: auditedForOthers("note_created"),
      async handle({ site, ...write }) {
        const of = await writableItem(kind, write.tx, write);
        return noteView(write.tx, await createComment(write, of, write.params), of, { site });
      },
    }),
  };
}

/** Those for one note, also at the path of a discussion, where an item is found only if the note is in it. */
export function singleNoteEndpoints(kind: ItemResource) {
  const { path, one, availability, reader, writer, find } = kind;
  const ofNote = { ...kind.params.properties, ...note };
  return {
    get: endpoint({
      method: "GET",
      path: `${path}/notes/:note_id`,
      summary: `Get a note of ${one}`,
      ...availability,
      access: reader,
      params: Type.Object(ofNote),
      returns: Note,
      async handle({ db, params, site, ...seen }) {
        const of = await find(db, seen, params);
        return noteView(db, await requireNote(db, of, params.note_id), of, { site });
      },
    }),

    update: endpoint({
      method: "PUT",
      path: `${path}/notes/:note_id`,
      summary: `Change a note of ${one}, as its author or an administrator`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofNote, ...noteBody }),
      returns: Note,
      audit: auditedForOthers("note_changed"),
      async handle({ site, ...write }) {
        const of = await writableItem(kind, write.tx, write);
        const { note_id, body } = write.params;
        return noteView(write.tx, await changeNote(write, of, note_id, body), of, { site });
      },
    }),

    delete: endpoint({
      method: "DELETE",
      path: `${path}/notes/:note_id`,
      summary: `Delete a note of ${one}, as its author or as Maintainer`,
      ...availability,
      access: writer,
      params: Type.Object(ofNote),
      audit: "note_deleted",
      conditional: true,
      async handle({ audit, unlessModified, ...write }) {
        const of = await writableItem(kind, write.tx, write);
        const { id, updated_at } = await deleteNote(write.tx, of, write.params.note_id);
        unlessModified(updated_at);
        audit(noteTarget(of, id));
      },
    }),
  };
}
