import { inGroup } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { changeNote, createComment, deleteNote, noteTarget } from "./actions.ts";
import { Note } from "./entity.ts";
import { listNotes, PAGING } from "./list.ts";
import { EpicNoteChanges, EpicNoteFilters, EpicNoteId, NewEpicNote } from "./params.ts";
import { notes, notesOfEpic, requireNote } from "./queries.ts";
import { noteView, noteViews } from "./views.ts";

const PREMIUM = { plan: "premium" } as const;
const reader = inGroup("viewer");
const writer = inGroup("viewer", { signedIn: true, unlessArchived: true });

export const epicNotes = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/notes",
    summary: "List the notes of an epic: its comments and the record of its changes",
    ...PREMIUM,
    access: reader,
    params: EpicNoteFilters,
    returns: pageOf(Note, PAGING),
    async handle({ db, page, params, ...seen }) {
      const of = await notesOfEpic(db, seen, params.epic_id);
      return noteViews(db, await page.rows(notes(db), listNotes(of, params)), of, seen);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/notes/:note_id",
    summary: "Get a note of an epic",
    ...PREMIUM,
    access: reader,
    params: EpicNoteId,
    returns: Note,
    async handle({ db, params, site, ...seen }) {
      const of = await notesOfEpic(db, seen, params.epic_id);
      return noteView(db, await requireNote(db, of, params.note_id), of, { site });
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_id/notes",
    summary: "Comment on an epic; where the discussion is locked only members do",
    ...PREMIUM,
    access: writer,
    params: NewEpicNote,
    returns: Note,
    audit: auditedForOthers("note_created"),
    async handle({ params, site, ...write }) {
      const of = { ...(await notesOfEpic(write.tx, write, params.epic_id)), actor: write.actor };
      return noteView(write.tx, await createComment(write, of, params), of, { site });
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/groups/:id/epics/:epic_id/notes/:note_id",
    summary: "Change a note of an epic, as its author or an administrator",
    ...PREMIUM,
    access: writer,
    params: EpicNoteChanges,
    returns: Note,
    audit: auditedForOthers("note_changed"),
    async handle({ tx, services, params, site, audit, ...seen }) {
      const of = { ...(await notesOfEpic(tx, seen, params.epic_id)), actor: seen.actor };
      return noteView(tx, await changeNote({ tx, services, audit }, of, params.note_id, params.body), of, { site });
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_id/notes/:note_id",
    summary: "Delete a note of an epic, as its author or as Maintainer",
    ...PREMIUM,
    access: writer,
    params: EpicNoteId,
    audit: "note_deleted",
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const of = { ...(await notesOfEpic(tx, seen, params.epic_id)), actor: seen.actor };
      const { id, updated_at } = await deleteNote(tx, of, params.note_id);
      unlessModified(updated_at);
      audit(noteTarget(of, id));
    },
  }),
};
