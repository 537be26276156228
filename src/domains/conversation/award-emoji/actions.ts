import { type Actor, isAdministrator } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import type { WriteContext } from "#http/endpoint.ts";
import { forbidden, unprocessable } from "#lib/refusal.ts";
import { noteTarget } from "#domains/conversation/notes/actions.ts";
import { refuseIfLocked } from "#domains/conversation/notes/rights.ts";
import { type Awardable, type AwardRow, awardsOf, requireAward } from "./queries.ts";

/** Names that mean the same emoji; votes are counted by one of them. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["+1", "thumbsup"],
  ["-1", "thumbsdown"],
  ["thumbs_up", "thumbsup"],
  ["thumbs_down", "thumbsdown"],
]);

/** How many different emoji one person may give to one thing. */
const MAX_AWARDS = 50;

/** Gives an emoji to something that the actor may see. */
export async function giveAward(tx: Tx, thing: Awardable, actor: Actor, given: string): Promise<AwardRow> {
  refuseIfLocked({ ...thing.of, actor });
  if (thing.system) throw forbidden("A note that records a change gets no emoji");
  const { count } = await awardsOf(tx, thing)
    .clearSelect()
    .select((counted) => counted.fn.countAll<number>().as("count"))
    .where("a.user_id", "=", actor.user.id)
    .executeTakeFirstOrThrow();
  if (count >= MAX_AWARDS) throw unprocessable(`One person gives at most ${MAX_AWARDS} emoji`);
  const lower = given.toLowerCase();
  return tx
    .insertInto("award_emoji")
    .values({ [thing.column]: thing.id, user_id: actor.user.id, name: ALIASES.get(lower) ?? lower })
    .returning(["id", "user_id", "name", "created_at", "updated_at"])
    .executeTakeFirstOrThrow();
}

/** Takes an emoji back that the actor gave; administrators take any. */
export async function takeAward(
  { tx, audit }: Pick<WriteContext, "tx" | "audit">,
  thing: Awardable,
  actor: Actor,
  id: number,
): Promise<AwardRow> {
  const award = await requireAward(tx, thing, id);
  refuseIfLocked({ ...thing.of, actor });
  if (award.user_id !== actor.user.id && !isAdministrator(actor))
    throw forbidden("Only who gave an emoji takes it back");
  await tx.deleteFrom("award_emoji").where("id", "=", id).execute();
  audit({ ...noteTarget(thing.of, id), type: "AwardEmoji", writtenBy: award.user_id });
  return award;
}
