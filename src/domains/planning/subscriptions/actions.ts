import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { unchanged } from "#lib/refusal.ts";
import type { Item } from "#domains/planning/items/item.ts";
import { setSubscription, subscribedAmong } from "#domains/planning/items/subscriptions.ts";

/** Subscribes the caller to an item or ends that; refused if it is so already. */
export async function changeSubscription(tx: Tx, actor: Actor, item: Item, subscribed: boolean) {
  const before = await subscribedAmong(tx, item.column, [item.id], actor);
  if (before.has(item.id) === subscribed) throw unchanged();
  await setSubscription(tx, item, actor.user.id, subscribed);
}
