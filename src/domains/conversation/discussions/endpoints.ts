import Type from "typebox";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { type ItemResource, writableItem } from "#domains/conversation/items/resource.ts";
import { changeNote, deleteNote, noteTarget } from "#domains/conversation/notes/actions.ts";
import { Note } from "#domains/conversation/notes/entity.ts";
import { note, noteBody, noteDraft } from "#domains/conversation/notes/params.ts";
import { notes } from "#domains/conversation/notes/queries.ts";
import { noteView } from "#domains/conversation/notes/views.ts";
import { beginDiscussion, replyIn } from "./actions.ts";
import { Discussion } from "./entity.ts";
import { discussion, reply } from "./params.ts";
import { discussionsOf, listDiscussions, noteIn, PAGING, requireDiscussion } from "./queries.ts";
import { discussionView, discussionViews } from "./views.ts";

/** The endpoints for the discussions of items of one kind. */
export const discussionEndpoints = (kind: ItemResource) => ({
  ...ofDiscussions(kind),
  ...ofNotesIn(kind),
  ...changesOfNotes(kind),
});

function ofDiscussions(kind: ItemResource) {
  const { path, one, availability, reader, writer } = kind;
  const ofItem = kind.params.properties;
  const ofDiscussion = { ...ofItem, ...discussion };
  return {
    list: endpoint({
      method: "GET",
      path: `${path}/discussions`,
      summary: `List the discussions of ${one}, each with its notes`,
      ...availability,
      access: reader,
      params: kind.params,
      returns: pageOf(Discussion, PAGING),
      async handle({ db, page, params, ...seen }) {
        const of = await kind.find(db, seen, params);
        const firsts = await page.rows(notes(db), listDiscussions(of));
        return discussionViews(db, await discussionsOf(db, of, firsts), of, seen);
      },
    }),

    get: endpoint({
      method: "GET",
      path: `${path}/discussions/:discussion_id`,
      summary: `Get a discussion of ${one}`,
      ...availability,
      access: reader,
      params: Type.Object(ofDiscussion),
      returns: Discussion,
      async handle({ db, params, ...seen }) {
        const of = await kind.find(db, seen, params);
        return discussionView(db, await requireDiscussion(db, of, params.discussion_id), of, seen);
      },
    }),

    create: endpoint({
      method: "POST",
      path: `${path}/discussions`,
      summary: `Begin a discussion on ${one}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofItem, ...noteDraft }),
      returns: Discussion,
      audit: auditedForOthers("discussion_created"),
      async handle({ site, ...write }) {
        const of = await writableItem(kind, write.tx, write);
        return discussionView(write.tx, [await beginDiscussion(write, of, write.params)], of, { site });
      },
    }),
  };
}

function ofNotesIn(kind: ItemResource) {
  const { path, one, availability, reader, writer } = kind;
  const ofDiscussion = { ...kind.params.properties, ...discussion };
  return {
    reply: endpoint({
      method: "POST",
      path: `${path}/discussions/:discussion_id/notes`,
      summary: `Reply in a discussion of ${one}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofDiscussion, ...reply }),
      returns: Note,
      audit: auditedForOthers("note_created"),
      async handle({ site, ...write }) {
        const of = await writableItem(kind, write.tx, write);
        return noteView(write.tx, await replyIn(write, of, write.params), of, { site });
      },
    }),

    getNote: endpoint({
      method: "GET",
      path: `${path}/discussions/:discussion_id/notes/:note_id`,
      summary: `Get a note of a discussion of ${one}`,
      ...availability,
      access: reader,
      params: Type.Object({ ...ofDiscussion, ...note }),
      returns: Note,
      async handle({ db, params, site, ...seen }) {
        const of = await kind.find(db, seen, params);
        return noteView(db, noteIn(await requireDiscussion(db, of, params.discussion_id), params.note_id), of, {
          site,
        });
      },
    }),
  };
}

function changesOfNotes(kind: ItemResource) {
  const { path, one, availability, writer } = kind;
  const ofNote = Type.Object({ ...kind.params.properties, ...discussion, ...note });
  return {
    updateNote: endpoint({
      method: "PUT",
      path: `${path}/discussions/:discussion_id/notes/:note_id`,
      summary: `Change a note of a discussion of ${one}, as its author or an administrator`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofNote.properties, ...noteBody }),
      returns: Note,
      audit: auditedForOthers("note_changed"),
      async handle({ site, ...write }) {
        const { tx, params } = write;
        const of = await writableItem(kind, tx, write);
        const { id } = noteIn(await requireDiscussion(tx, of, params.discussion_id), params.note_id);
        return noteView(tx, await changeNote(write, of, id, params.body), of, { site });
      },
    }),

    deleteNote: endpoint({
      method: "DELETE",
      path: `${path}/discussions/:discussion_id/notes/:note_id`,
      summary: `Delete a note of a discussion of ${one}, as its author or as Maintainer`,
      ...availability,
      access: writer,
      params: ofNote,
      audit: "note_deleted",
      conditional: true,
      async handle({ audit, unlessModified, ...write }) {
        const { tx, params } = write;
        const of = await writableItem(kind, tx, write);
        const { id } = noteIn(await requireDiscussion(tx, of, params.discussion_id), params.note_id);
        const { updated_at } = await deleteNote(tx, of, id);
        unlessModified(updated_at);
        audit(noteTarget(of, id));
      },
    }),
  };
}
