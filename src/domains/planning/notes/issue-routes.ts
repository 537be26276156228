import { inProject } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { changeNote, createComment, deleteNote, noteTarget } from "./actions.ts";
import { Note } from "./entity.ts";
import { listNotes, PAGING } from "./list.ts";
import { IssueNoteChanges, IssueNoteFilters, IssueNoteId, NewIssueNote } from "./params.ts";
import { notes, notesOfIssue, requireNote } from "./queries.ts";
import { noteView, noteViews } from "./views.ts";

const reader = inProject("viewer", { feature: "issues" });
const writer = inProject("viewer", { feature: "issues", signedIn: true, unlessArchived: true });

export const issueNotes = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/notes",
    summary: "List the notes of an issue: its comments and the record of its changes",
    access: reader,
    params: IssueNoteFilters,
    returns: pageOf(Note, PAGING),
    async handle({ db, page, params, ...seen }) {
      const of = await notesOfIssue(db, seen, params.issue_iid);
      return noteViews(db, await page.rows(notes(db), listNotes(of, params)), of, seen);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/notes/:note_id",
    summary: "Get a note of an issue",
    access: reader,
    params: IssueNoteId,
    returns: Note,
    async handle({ db, params, site, ...seen }) {
      const of = await notesOfIssue(db, seen, params.issue_iid);
      return noteView(db, await requireNote(db, of, params.note_id), of, { site });
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/notes",
    summary: "Comment on an issue; where the discussion is locked only members do",
    access: writer,
    params: NewIssueNote,
    returns: Note,
    audit: auditedForOthers("note_created"),
    async handle({ params, site, ...write }) {
      const of = { ...(await notesOfIssue(write.tx, write, params.issue_iid)), actor: write.actor };
      return noteView(write.tx, await createComment(write, of, params), of, { site });
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id/issues/:issue_iid/notes/:note_id",
    summary: "Change a note of an issue, as its author or an administrator",
    access: writer,
    params: IssueNoteChanges,
    returns: Note,
    audit: auditedForOthers("note_changed"),
    async handle({ tx, services, params, site, audit, ...seen }) {
      const of = { ...(await notesOfIssue(tx, seen, params.issue_iid)), actor: seen.actor };
      return noteView(tx, await changeNote({ tx, services, audit }, of, params.note_id, params.body), of, { site });
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/issues/:issue_iid/notes/:note_id",
    summary: "Delete a note of an issue, as its author or as Maintainer",
    access: writer,
    params: IssueNoteId,
    audit: "note_deleted",
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const of = { ...(await notesOfIssue(tx, seen, params.issue_iid)), actor: seen.actor };
      const { id, updated_at } = await deleteNote(tx, of, params.note_id);
      unlessModified(updated_at);
      audit(noteTarget(of, id));
    },
  }),
};
