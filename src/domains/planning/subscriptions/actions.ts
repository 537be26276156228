import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { unchanged } from "#lib/refusal.ts";
import type { Item } from "#domains/conversation/items/item.ts";
import { setSubscription, isSubscribedTo } from "#domains/planning/items/subscriptions.ts";

/** Subscribes the caller to an item or ends that; refused if it is so already. */
export async function changeSubscription(tx: Tx, actor: Actor, item: Item, subscribed: boolean) {
  if ((await isSubscribedTo(tx, item, actor)) === subscribed) throw unchanged();
  await setSubscription(tx, item, actor.user.id, subscribed);
}
