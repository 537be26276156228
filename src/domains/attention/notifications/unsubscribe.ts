import { timingSafeEqual } from "node:crypto";
import type { Tx } from "#db/database.ts";
import type { Sealing } from "#lib/sealing.ts";
import type { Item, ItemKind } from "#domains/conversation/items/item.ts";
import { setSubscription } from "#domains/attention/subscriptions/actions.ts";

export const UNSUBSCRIBE = "/-/unsubscribe";

/** Whose mail about which item a link ends. */
export interface Unsubscription {
  readonly userId: number;
  readonly item: Item;
}

const FORM = /^(\d{1,15})-([a-z]{1,20})-(\d{1,15})-([\w-]{43})$/;

/** Nothing is stored of a link: it says what it does, and a code that only the sealing key gives shows that we made it. */
export async function unsubscribeToken(sealing: Sealing, { userId, item }: Unsubscription): Promise<string> {
  const subject = `${userId}-${item.kind.word}-${item.id}`;
  return `${subject}-${(await sealing.derive(`unsubscribe ${subject}`)).toString("base64url")}`;
}

/** What a token stands for; undefined if we did not make it. */
export async function readToken(
  kinds: readonly ItemKind[],
  sealing: Sealing,
  token: string,
): Promise<Unsubscription | undefined> {
  const [, userId, word, itemId] = FORM.exec(token) ?? [];
  const kind = kinds.find((each) => each.word === word);
  if (kind === undefined) return undefined;
  const unsubscription = { userId: Number(userId), item: { kind, id: Number(itemId) } };
  const made = Buffer.from(await unsubscribeToken(sealing, unsubscription));
  const given = Buffer.from(token);
  return made.length === given.length && timingSafeEqual(made, given) ? unsubscription : undefined;
}

/** Ends the mail about an item; nothing is left to do where the item or the account is gone. */
export async function unsubscribe(tx: Tx, { userId, item }: Unsubscription): Promise<void> {
  const found = await tx
    .selectFrom(item.kind.table)
    .select("id")
    .where("id", "=", item.id)
    .forKeyShare()
    .executeTakeFirst();
  const user = await tx.selectFrom("users").select("id").where("id", "=", userId).forKeyShare().executeTakeFirst();
  if (found && user) await setSubscription(tx, item, userId, false);
}
