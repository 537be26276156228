import Type from "typebox";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import type { ItemResource } from "#domains/conversation/items/resource.ts";
import { LabelEvent } from "./entity.ts";
import { eventsOf, requireLabelEvent } from "./queries.ts";
import { labelEventView, labelEventViews } from "./views.ts";

/** The endpoints for the label events of items of one kind. */
export const labelEventEndpoints = ({
  path,
  one,
  availability,
  signedIn: access,
  params: ofItem,
  find,
}: ItemResource) => ({
  list: endpoint({
    method: "GET",
    path: `${path}/resource_label_events`,
    summary: `List who added or removed which label of ${one} when, the oldest first`,
    ...availability,
    access,
    params: ofItem,
    returns: pageOf(LabelEvent, { id: "v.id" }),
    async handle({ db, page, site, params, ...seen }) {
      const of = await find(db, seen, params);
      return labelEventViews(db, await page.rows(eventsOf(db, of, seen.actor)), of, site);
    },
  }),

  get: endpoint({
    method: "GET",
    path: `${path}/resource_label_events/:resource_label_event_id`,
    summary: `Get a label event of ${one}`,
    ...availability,
    access,
    params: Type.Object({ ...ofItem.properties, resource_label_event_id: Id }),
    returns: LabelEvent,
    async handle({ db, site, params, ...seen }) {
      const of = await find(db, seen, params);
      return labelEventView(db, await requireLabelEvent(db, of, seen.actor, params.resource_label_event_id), of, site);
    },
  }),
});
