import Type from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import type { ItemResource } from "#domains/conversation/items/resource.ts";
import { note } from "#domains/conversation/notes/params.ts";
import { giveAward, takeAward } from "./actions.ts";
import { AwardEmoji } from "./entity.ts";
import { award, awardDraft } from "./params.ts";
import { type Awardable, awardableItem, awardableNote, awardsOf, requireAward } from "./queries.ts";
import { awardView, awardViews } from "./views.ts";

/** The endpoints for the emoji of items of one kind. */
export const awardEndpoints = (kind: ItemResource) =>
  endpointsFor({ ...kind, findThing: async (db, seen, params) => awardableItem(await kind.find(db, seen, params)) });

/** The endpoints for the emoji of the notes on items of one kind. */
export const noteAwardEndpoints = (kind: ItemResource) =>
  endpointsFor({
    ...kind,
    path: `${kind.path}/notes/:note_id`,
    one: `a note on ${kind.one}`,
    params: Type.Object({ ...kind.params.properties, ...note }),
    findThing: async (db, seen, params) =>
      awardableNote(db, await kind.find(db, seen, params), Number(params["note_id"])),
  });

interface AwardableKind extends Omit<ItemResource, "find"> {
  findThing(db: Db, seen: { readonly actor: Actor | null }, params: Record<string, unknown>): Promise<Awardable>;
}

const endpointsFor = (kind: AwardableKind) => ({ ...readEndpoints(kind), ...writeEndpoints(kind) });

function readEndpoints({ path, one, availability, reader, params: ofThing, findThing }: AwardableKind) {
  return {
    list: endpoint({
      method: "GET",
      path: `${path}/award_emoji`,
      summary: `List the emoji that ${one} got`,
      ...availability,
      access: reader,
      params: ofThing,
      returns: pageOf(AwardEmoji, { id: "a.id" }),
      async handle({ db, page, params, site, ...seen }) {
        const thing = await findThing(db, seen, params);
        return awardViews(db, await page.rows(awardsOf(db, thing)), thing, site);
      },
    }),

    get: endpoint({
      method: "GET",
      path: `${path}/award_emoji/:award_id`,
      summary: `Get an emoji that ${one} got`,
      ...availability,
      access: reader,
      params: Type.Object({ ...ofThing.properties, ...award }),
      returns: AwardEmoji,
      async handle({ db, params, site, ...seen }) {
        const thing = await findThing(db, seen, params);
        return awardView(db, await requireAward(db, thing, params.award_id), thing, site);
      },
    }),
  };
}

function writeEndpoints({
  path,
  one,
  availability,
  writer,
  params: { properties: ofThing },
  findThing,
}: AwardableKind) {
  return {
    create: endpoint({
      method: "POST",
      path: `${path}/award_emoji`,
      summary: `Give an emoji to ${one}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofThing, ...awardDraft }),
      returns: AwardEmoji,
      audit: auditedForOthers("award_emoji_created"),
      async handle({ tx, params, site, ...seen }) {
        const thing = await findThing(tx, seen, params);
        return awardView(tx, await giveAward(tx, thing, seen.actor, params.name), thing, site);
      },
    }),

    delete: endpoint({
      method: "DELETE",
      path: `${path}/award_emoji/:award_id`,
      summary: `Take an emoji back from ${one}`,
      ...availability,
      access: writer,
      params: Type.Object({ ...ofThing, ...award }),
      audit: auditedForOthers("award_emoji_deleted"),
      conditional: true,
      async handle({ tx, params, audit, unlessModified, ...seen }) {
        const thing = await findThing(tx, seen, params);
        unlessModified((await takeAward({ tx, audit }, thing, seen.actor, params.award_id)).updated_at);
      },
    }),
  };
}
