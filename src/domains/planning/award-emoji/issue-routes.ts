import { inProject } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { IssueNoteId } from "#domains/planning/notes/params.ts";
import { notesOfIssue } from "#domains/planning/notes/queries.ts";
import { giveAward, takeAward } from "./actions.ts";
import { AwardEmoji } from "./entity.ts";
import { IssueAwardId, IssueNoteAwardId, NewIssueAward, NewIssueNoteAward } from "./params.ts";
import { awardableItem, awardableNote, awardsOf, requireAward } from "./queries.ts";
import { awardView, awardViews } from "./views.ts";

const reader = inProject("viewer", { feature: "issues" });
const writer = inProject("viewer", { feature: "issues", signedIn: true, unlessArchived: true });
const returns = pageOf(AwardEmoji, { id: "a.id" });

export const issueAwards = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/award_emoji",
    summary: "List the emoji that an issue got",
    access: reader,
    params: IssueId,
    returns,
    async handle({ db, page, params, site, ...seen }) {
      const thing = awardableItem(await notesOfIssue(db, seen, params.issue_iid));
      return awardViews(db, await page.rows(awardsOf(db, thing)), thing, site);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/award_emoji/:award_id",
    summary: "Get an emoji that an issue got",
    access: reader,
    params: IssueAwardId,
    returns: AwardEmoji,
    async handle({ db, params, site, ...seen }) {
      const thing = awardableItem(await notesOfIssue(db, seen, params.issue_iid));
      return awardView(db, await requireAward(db, thing, params.award_id), thing, site);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/award_emoji",
    summary: "Give an emoji to an issue",
    access: writer,
    params: NewIssueAward,
    returns: AwardEmoji,
    audit: auditedForOthers("award_emoji_created"),
    async handle({ tx, params, site, ...seen }) {
      const thing = awardableItem(await notesOfIssue(tx, seen, params.issue_iid));
      return awardView(tx, await giveAward(tx, thing, seen.actor, params.name), thing, site);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/issues/:issue_iid/award_emoji/:award_id",
    summary: "Take an emoji back from an issue",
    access: writer,
    params: IssueAwardId,
    audit: auditedForOthers("award_emoji_deleted"),
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const thing = awardableItem(await notesOfIssue(tx, seen, params.issue_iid));
      unlessModified((await takeAward({ tx, audit }, thing, seen.actor, params.award_id)).updated_at);
    },
  }),
};

export const issueNoteAwards = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/notes/:note_id/award_emoji",
    summary: "List the emoji that a note on an issue got",
    access: reader,
    params: IssueNoteId,
    returns,
    async handle({ db, page, params, site, ...seen }) {
      const thing = await awardableNote(db, await notesOfIssue(db, seen, params.issue_iid), params.note_id);
      return awardViews(db, await page.rows(awardsOf(db, thing)), thing, site);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/notes/:note_id/award_emoji/:award_id",
    summary: "Get an emoji that a note on an issue got",
    access: reader,
    params: IssueNoteAwardId,
    returns: AwardEmoji,
    async handle({ db, params, site, ...seen }) {
      const thing = await awardableNote(db, await notesOfIssue(db, seen, params.issue_iid), params.note_id);
      return awardView(db, await requireAward(db, thing, params.award_id), thing, site);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/notes/:note_id/award_emoji",
    summary: "Give an emoji to a note on an issue",
    access: writer,
    params: NewIssueNoteAward,
    returns: AwardEmoji,
    audit: auditedForOthers("award_emoji_created"),
    async handle({ tx, params, site, ...seen }) {
      const thing = await awardableNote(tx, await notesOfIssue(tx, seen, params.issue_iid), params.note_id);
      return awardView(tx, await giveAward(tx, thing, seen.actor, params.name), thing, site);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/issues/:issue_iid/notes/:note_id/award_emoji/:award_id",
    summary: "Take an emoji back from a note on an issue",
    access: writer,
    params: IssueNoteAwardId,
    audit: auditedForOthers("award_emoji_deleted"),
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const thing = await awardableNote(tx, await notesOfIssue(tx, seen, params.issue_iid), params.note_id);
      unlessModified((await takeAward({ tx, audit }, thing, seen.actor, params.award_id)).updated_at);
    },
  }),
};
