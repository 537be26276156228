import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";

/** What happened, by the number that is stored. */
export const ACTIONS = {
  created: 1,
  updated: 2,
  closed: 3,
  reopened: 4,
  pushed: 5,
  commented: 6,
  merged: 7,
  joined: 8,
  left: 9,
  destroyed: 10,
  expired: 11,
  approved: 12,
} as const;
type Action = keyof typeof ACTIONS;

/** An event belongs to a project, or to a group if it is about an epic or a milestone of the group. */
export type EventPlace = { readonly project_id: number } | { readonly group_id: number };

/** What an event is about; one without a target is about its project. */
export interface EventTarget {
  readonly type: "Epic" | "Issue" | "MergeRequest" | "Milestone" | "Note";
  readonly id: number;
}

/** Records what a user did, in the transaction that does it. */
export async function recordEvent(
  tx: Tx,
  authorId: number,
  action: Exclude<Action, "pushed">,
  place: EventPlace,
  target?: EventTarget,
): Promise<void> {
  const event = { author_id: authorId, action: ACTIONS[action], target_type: target?.type, target_id: target?.id };
  await tx
    .insertInto("events")
    .values({ ...event, ...place })
    .execute();
  if ("project_id" in place) await projectActivity(place.project_id).execute(tx);
}

/** Records the creation of a target as a part of the statement that creates it. */
export const creationEvent = (
  authorId: number,
  place: EventPlace,
  type: EventTarget["type"],
  id: RawBuilder<unknown>,
): RawBuilder<unknown> => {
  const [column, container] = Object.entries(place)[0] as [string, number];
  return sql`
    insert into events (${sql.ref(column)}, author_id, action, target_type, target_id)
    select ${container}, ${authorId}, ${sql.lit(ACTIONS.created)}, ${sql.lit(type)}, id from (${id}) created`;
};

/** Records what became of memberships as a part of the statement that has them; those of groups have no event. */
export const membershipEvents = (action: "joined" | "left" | "expired", memberships: RawBuilder<unknown>) => sql`
  insert into events (project_id, author_id, action)
  select project_id, user_id, ${sql.lit(ACTIONS[action])} from (${memberships}) m where project_id is not null`;

/**
 * Sets the time of the last activity in a project: at most hourly, because an update of a project maintains ten indexes
 * and everybody who works in it would wait for the row.
 */
export const projectActivity = (projectId: number): RawBuilder<unknown> => sql`
  update projects set last_activity_at = now()
  where id = ${projectId} and last_activity_at < now() - interval '1 hour'`;
