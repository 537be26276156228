import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import type { ItemResource } from "#domains/conversation/items/resource.ts";
import { changeSubscription } from "./actions.ts";

/** The endpoints by which somebody gets mail about items of one kind, or no more of it. */
export const subscriptionEndpoints = (resource: ItemResource) => ({
  subscribe: changing(resource, {
    name: "subscribe",
    summary: `Get mail about ${resource.one}; 304 if the caller does already`,
    subscribed: true,
  }),
  unsubscribe: changing(resource, {
    name: "unsubscribe",
    summary: `Get no more mail about ${resource.one}; 304 if the caller gets none already`,
    subscribed: false,
  }),
});

interface Change {
  readonly name: string;
  readonly summary: string;
  readonly subscribed: boolean;
}

const changing = (
  { path, availability, signedIn, params: ofItem, single, find, show }: ItemResource,
  { name, summary, subscribed }: Change,
) =>
  endpoint({
    method: "POST",
    path: `${path}/${name}`,
    summary,
    ...availability,
    access: signedIn,
    params: ofItem,
    returns: single,
    audit: auditedForOthers("subscription_changed"),
    unchanged: true,
    async handle({ tx, params, ...seen }) {
      await changeSubscription(tx, seen.actor, await find(tx, seen, params), subscribed);
      return show(tx, seen, params);
    },
  });
