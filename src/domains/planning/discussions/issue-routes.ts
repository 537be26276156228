import { inProject } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { changeNote, deleteNote, noteTarget } from "#domains/planning/notes/actions.ts";
import { Note } from "#domains/planning/notes/entity.ts";
import { notes, notesOfIssue } from "#domains/planning/notes/queries.ts";
import { noteView } from "#domains/planning/notes/views.ts";
import { beginDiscussion, replyIn } from "./actions.ts";
import { Discussion } from "./entity.ts";
import {
  IssueDiscussionId,
  IssueDiscussionNoteChanges,
  IssueDiscussionNoteId,
  IssueReply,
  NewIssueDiscussion,
} from "./params.ts";
import { discussionsOf, listDiscussions, noteIn, PAGING, requireDiscussion } from "./queries.ts";
import { discussionView, discussionViews } from "./views.ts";

const reader = inProject("viewer", { feature: "issues" });
const writer = inProject("viewer", { feature: "issues", signedIn: true, unlessArchived: true });

export const issueDiscussions = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/discussions",
    summary: "List the discussions of an issue, each with its notes",
    access: reader,
    params: IssueId,
    returns: pageOf(Discussion, PAGING),
    async handle({ db, page, params, ...seen }) {
      const of = await notesOfIssue(db, seen, params.issue_iid);
      const firsts = await page.rows(notes(db), listDiscussions(of));
      return discussionViews(db, await discussionsOf(db, of, firsts), of, seen);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/discussions/:discussion_id",
    summary: "Get a discussion of an issue",
    access: reader,
    params: IssueDiscussionId,
    returns: Discussion,
    async handle({ db, params, ...seen }) {
      const of = await notesOfIssue(db, seen, params.issue_iid);
      return discussionView(db, await requireDiscussion(db, of, params.discussion_id), of, seen);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/discussions",
    summary: "Begin a discussion on an issue",
    access: writer,
    params: NewIssueDiscussion,
    returns: Discussion,
    audit: auditedForOthers("discussion_created"),
    async handle({ params, site, ...write }) {
      const of = { ...(await notesOfIssue(write.tx, write, params.issue_iid)), actor: write.actor };
      return discussionView(write.tx, [await beginDiscussion(write, of, params)], of, { site });
    },
  }),

  reply: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/discussions/:discussion_id/notes",
    summary: "Reply in a discussion of an issue",
    access: writer,
    params: IssueReply,
    returns: Note,
    audit: auditedForOthers("note_created"),
    async handle({ params, site, ...write }) {
      const of = { ...(await notesOfIssue(write.tx, write, params.issue_iid)), actor: write.actor };
      return noteView(write.tx, await replyIn(write, of, params), of, { site });
    },
  }),

  getNote: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/discussions/:discussion_id/notes/:note_id",
    summary: "Get a note of a discussion of an issue",
    access: reader,
    params: IssueDiscussionNoteId,
    returns: Note,
    async handle({ db, params, site, ...seen }) {
      const of = await notesOfIssue(db, seen, params.issue_iid);
      return noteView(db, noteIn(await requireDiscussion(db, of, params.discussion_id), params.note_id), of, { site });
    },
  }),

  updateNote: endpoint({
    method: "PUT",
    path: "/projects/:id/issues/:issue_iid/discussions/:discussion_id/notes/:note_id",
    summary: "Change a note of a discussion of an issue, as its author or an administrator",
    access: writer,
    params: IssueDiscussionNoteChanges,
    returns: Note,
    audit: auditedForOthers("note_changed"),
    async handle({ tx, services, params, site, audit, ...seen }) {
      const of = { ...(await notesOfIssue(tx, seen, params.issue_iid)), actor: seen.actor };
      const { id } = noteIn(await requireDiscussion(tx, of, params.discussion_id), params.note_id);
      return noteView(tx, await changeNote({ tx, services, audit }, of, id, params.body), of, { site });
    },
  }),

  deleteNote: endpoint({
    method: "DELETE",
    path: "/projects/:id/issues/:issue_iid/discussions/:discussion_id/notes/:note_id",
    summary: "Delete a note of a discussion of an issue, as its author or as Maintainer",
    access: writer,
    params: IssueDiscussionNoteId,
    audit: "note_deleted",
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const of = { ...(await notesOfIssue(tx, seen, params.issue_iid)), actor: seen.actor };
      const { id } = noteIn(await requireDiscussion(tx, of, params.discussion_id), params.note_id);
      const { updated_at } = await deleteNote(tx, of, id);
      unlessModified(updated_at);
      audit(noteTarget(of, id));
    },
  }),
};
