import { timingSafeEqual } from "node:crypto";
import type { Tx } from "#db/database.ts";
import type { Sealing } from "#lib/sealing.ts";
import type { Item } from "#domains/planning/items/item.ts";
import { setSubscription } from "#domains/planning/items/subscriptions.ts";

export const UNSUBSCRIBE = "/-/unsubscribe";

/** Whose mail about which item a link ends. */
export interface Unsubscription {
  readonly userId: number;
  readonly item: Item;
}

const KINDS = { issue_id: "issue", epic_id: "epic" } as const;
const FORM = /^(\d{1,15})-(issue|epic)-(\d{1,15})-([\w-]{43})$/;

/** Nothing is stored of a link: it says what it does, and a code that only the sealing key gives shows that we made it. */
export async function unsubscribeToken(sealing: Sealing, { userId, item }: Unsubscription): Promise<string> {
  const subject = `${userId}-${KINDS[item.column]}-${item.id}`;
  return `${subject}-${(await sealing.derive(`unsubscribe ${subject}`)).toString("base64url")}`;
}

/** What a token stands for; undefined if we did not make it. */
export async function readToken(sealing: Sealing, token: string): Promise<Unsubscription | undefined> {
  const [, userId, kind, itemId] = FORM.exec(token) ?? [];
  if (kind === undefined) return undefined;
  const item = { column: kind === "issue" ? "issue_id" : "epic_id", id: Number(itemId) } as const;
  const unsubscription = { userId: Number(userId), item };
  const made = Buffer.from(await unsubscribeToken(sealing, unsubscription));
  const given = Buffer.from(token);
  return made.length === given.length && timingSafeEqual(made, given) ? unsubscription : undefined;
}

/** Ends the mail about an item; nothing is left to do where the item or the account is gone. */
export async function unsubscribe(tx: Tx, { userId, item }: Unsubscription): Promise<void> {
  const items = item.column === "issue_id" ? ("issues" as const) : ("epics" as const);
  const found = await tx.selectFrom(items).select("id").where("id", "=", item.id).forKeyShare().executeTakeFirst();
  const user = await tx.selectFrom("users").select("id").where("id", "=", userId).forKeyShare().executeTakeFirst();
  if (found && user) await setSubscription(tx, item, userId, false);
}
