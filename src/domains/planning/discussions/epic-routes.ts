import { inGroup } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { EpicByAnyId } from "#domains/planning/epics/params.ts";
import { changeNote, deleteNote, noteTarget } from "#domains/planning/notes/actions.ts";
import { Note } from "#domains/planning/notes/entity.ts";
import { notes, notesOfEpic } from "#domains/planning/notes/queries.ts";
import { noteView } from "#domains/planning/notes/views.ts";
import { beginDiscussion, replyIn } from "./actions.ts";
import { Discussion } from "./entity.ts";
import {
  EpicDiscussionId,
  EpicDiscussionNoteChanges,
  EpicDiscussionNoteId,
  EpicReply,
  NewEpicDiscussion,
} from "./params.ts";
import { discussionsOf, listDiscussions, noteIn, PAGING, requireDiscussion } from "./queries.ts";
import { discussionView, discussionViews } from "./views.ts";

const PREMIUM = { plan: "premium" } as const;
const reader = inGroup("viewer");
const writer = inGroup("viewer", { signedIn: true, unlessArchived: true });

export const epicDiscussions = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/discussions",
    summary: "List the discussions of an epic, each with its notes",
    ...PREMIUM,
    access: reader,
    params: EpicByAnyId,
    returns: pageOf(Discussion, PAGING),
    async handle({ db, page, params, ...seen }) {
      const of = await notesOfEpic(db, seen, params.epic_id);
      const firsts = await page.rows(notes(db), listDiscussions(of));
      return discussionViews(db, await discussionsOf(db, of, firsts), of, seen);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/discussions/:discussion_id",
    summary: "Get a discussion of an epic",
    ...PREMIUM,
    access: reader,
    params: EpicDiscussionId,
    returns: Discussion,
    async handle({ db, params, ...seen }) {
      const of = await notesOfEpic(db, seen, params.epic_id);
      return discussionView(db, await requireDiscussion(db, of, params.discussion_id), of, seen);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_id/discussions",
    summary: "Begin a discussion on an epic",
    ...PREMIUM,
    access: writer,
    params: NewEpicDiscussion,
    returns: Discussion,
    audit: auditedForOthers("discussion_created"),
    async handle({ params, site, ...write }) {
      const of = { ...(await notesOfEpic(write.tx, write, params.epic_id)), actor: write.actor };
      return discussionView(write.tx, [await beginDiscussion(write, of, params)], of, { site });
    },
  }),

  reply: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_id/discussions/:discussion_id/notes",
    summary: "Reply in a discussion of an epic",
    ...PREMIUM,
    access: writer,
    params: EpicReply,
    returns: Note,
    audit: auditedForOthers("note_created"),
    async handle({ params, site, ...write }) {
      const of = { ...(await notesOfEpic(write.tx, write, params.epic_id)), actor: write.actor };
      return noteView(write.tx, await replyIn(write, of, params), of, { site });
    },
  }),

  getNote: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/discussions/:discussion_id/notes/:note_id",
    summary: "Get a note of a discussion of an epic",
    ...PREMIUM,
    access: reader,
    params: EpicDiscussionNoteId,
    returns: Note,
    async handle({ db, params, site, ...seen }) {
      const of = await notesOfEpic(db, seen, params.epic_id);
      return noteView(db, noteIn(await requireDiscussion(db, of, params.discussion_id), params.note_id), of, { site });
    },
  }),

  updateNote: endpoint({
    method: "PUT",
    path: "/groups/:id/epics/:epic_id/discussions/:discussion_id/notes/:note_id",
    summary: "Change a note of a discussion of an epic, as its author or an administrator",
    ...PREMIUM,
    access: writer,
    params: EpicDiscussionNoteChanges,
    returns: Note,
    audit: auditedForOthers("note_changed"),
    async handle({ tx, services, params, site, audit, ...seen }) {
      const of = { ...(await notesOfEpic(tx, seen, params.epic_id)), actor: seen.actor };
      const { id } = noteIn(await requireDiscussion(tx, of, params.discussion_id), params.note_id);
      return noteView(tx, await changeNote({ tx, services, audit }, of, id, params.body), of, { site });
    },
  }),

  deleteNote: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_id/discussions/:discussion_id/notes/:note_id",
    summary: "Delete a note of a discussion of an epic, as its author or as Maintainer",
    ...PREMIUM,
    access: writer,
    params: EpicDiscussionNoteId,
    audit: "note_deleted",
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const of = { ...(await notesOfEpic(tx, seen, params.epic_id)), actor: seen.actor };
      const { id } = noteIn(await requireDiscussion(tx, of, params.discussion_id), params.note_id);
      const { updated_at } = await deleteNote(tx, of, id);
      unlessModified(updated_at);
      audit(noteTarget(of, id));
    },
  }),
};
