import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { unchanged } from "#lib/refusal.ts";
import type { Item } from "#domains/conversation/items/item.ts";
import { isSubscribedTo } from "./queries.ts";

/** Subscribes the caller to an item or ends that; refused if it is so already. */
export async function changeSubscription(tx: Tx, actor: Actor, item: Item, subscribed: boolean) {
  if ((await isSubscribedTo(tx, item, actor)) === subscribed) throw unchanged();
  await setSubscription(tx, item, actor.user.id, subscribed);
}

/** Records that somebody wants to hear of an item, or no more of it. */
export async function setSubscription(tx: Tx, { kind, id }: Item, userId: number, subscribed: boolean): Promise<void> {
  const item = sql.ref(kind.column);
  await sql`
    insert into subscriptions (${item}, user_id, subscribed) values (${id}, ${userId}, ${subscribed})
    on conflict (${item}, user_id) where ${item} is not null
      do update set subscribed = excluded.subscribed, updated_at = now()
      where subscriptions.subscribed <> excluded.subscribed`.execute(tx);
}

/** Whoever subscribed to an issue, or ended that, did so for the one that it is moved to. */
export async function moveSubscriptions(tx: Tx, fromIssueId: number, toIssueId: number): Promise<void> {
  await sql`update subscriptions set issue_id = ${toIssueId} where issue_id = ${fromIssueId}`.execute(tx);
}
