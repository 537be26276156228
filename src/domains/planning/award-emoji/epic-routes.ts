import { inGroup } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { EpicId } from "#domains/planning/epics/params.ts";
import { EpicNoteId } from "#domains/planning/notes/params.ts";
import { notesOfEpic, notesOfEpicByIid } from "#domains/planning/notes/queries.ts";
import { giveAward, takeAward } from "./actions.ts";
import { AwardEmoji } from "./entity.ts";
import { EpicAwardId, EpicNoteAwardId, NewEpicAward, NewEpicNoteAward } from "./params.ts";
import { awardableItem, awardableNote, awardsOf, requireAward } from "./queries.ts";
import { awardView, awardViews } from "./views.ts";

const PREMIUM = { plan: "premium" } as const;
const reader = inGroup("viewer");
const writer = inGroup("viewer", { signedIn: true, unlessArchived: true });
const returns = pageOf(AwardEmoji, { id: "a.id" });

export const epicAwards = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_iid/award_emoji",
    summary: "List the emoji that an epic got",
    ...PREMIUM,
    access: reader,
    params: EpicId,
    returns,
    async handle({ db, page, params, site, ...seen }) {
      const thing = awardableItem(await notesOfEpicByIid(db, seen, params.epic_iid));
      return awardViews(db, await page.rows(awardsOf(db, thing)), thing, site);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_iid/award_emoji/:award_id",
    summary: "Get an emoji that an epic got",
    ...PREMIUM,
    access: reader,
    params: EpicAwardId,
    returns: AwardEmoji,
    async handle({ db, params, site, ...seen }) {
      const thing = awardableItem(await notesOfEpicByIid(db, seen, params.epic_iid));
      return awardView(db, await requireAward(db, thing, params.award_id), thing, site);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_iid/award_emoji",
    summary: "Give an emoji to an epic",
    ...PREMIUM,
    access: writer,
    params: NewEpicAward,
    returns: AwardEmoji,
    audit: auditedForOthers("award_emoji_created"),
    async handle({ tx, params, site, ...seen }) {
      const thing = awardableItem(await notesOfEpicByIid(tx, seen, params.epic_iid));
      return awardView(tx, await giveAward(tx, thing, seen.actor, params.name), thing, site);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_iid/award_emoji/:award_id",
    summary: "Take an emoji back from an epic",
    ...PREMIUM,
    access: writer,
    params: EpicAwardId,
    audit: auditedForOthers("award_emoji_deleted"),
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const thing = awardableItem(await notesOfEpicByIid(tx, seen, params.epic_iid));
      unlessModified((await takeAward({ tx, audit }, thing, seen.actor, params.award_id)).updated_at);
    },
  }),
};

export const epicNoteAwards = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/notes/:note_id/award_emoji",
    summary: "List the emoji that a note on an epic got",
    ...PREMIUM,
    access: reader,
    params: EpicNoteId,
    returns,
    async handle({ db, page, params, site, ...seen }) {
      const thing = await awardableNote(db, await notesOfEpic(db, seen, params.epic_id), params.note_id);
      return awardViews(db, await page.rows(awardsOf(db, thing)), thing, site);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/notes/:note_id/award_emoji/:award_id",
    summary: "Get an emoji that a note on an epic got",
    ...PREMIUM,
    access: reader,
    params: EpicNoteAwardId,
    returns: AwardEmoji,
    async handle({ db, params, site, ...seen }) {
      const thing = await awardableNote(db, await notesOfEpic(db, seen, params.epic_id), params.note_id);
      return awardView(db, await requireAward(db, thing, params.award_id), thing, site);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_id/notes/:note_id/award_emoji",
    summary: "Give an emoji to a note on an epic",
    ...PREMIUM,
    access: writer,
    params: NewEpicNoteAward,
    returns: AwardEmoji,
    audit: auditedForOthers("award_emoji_created"),
    async handle({ tx, params, site, ...seen }) {
      const thing = await awardableNote(tx, await notesOfEpic(tx, seen, params.epic_id), params.note_id);
      return awardView(tx, await giveAward(tx, thing, seen.actor, params.name), thing, site);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_id/notes/:note_id/award_emoji/:award_id",
    summary: "Take an emoji back from a note on an epic",
    ...PREMIUM,
    access: writer,
    params: EpicNoteAwardId,
    audit: auditedForOthers("award_emoji_deleted"),
    conditional: true,
    async handle({ tx, params, audit, unlessModified, ...seen }) {
      const thing = await awardableNote(tx, await notesOfEpic(tx, seen, params.epic_id), params.note_id);
      unlessModified((await takeAward({ tx, audit }, thing, seen.actor, params.award_id)).updated_at);
    },
  }),
};
