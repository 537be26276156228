import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";
import { idOfRow, type ItemKind, rowsWithContainer } from "#domains/conversation/items/item.ts";
import type { Notification } from "./notify.ts";
import { takesPart } from "#domains/attention/subscriptions/queries.ts";
import { candidatesOf } from "./candidates.ts";

/** Somebody who is told, where, and why. */
export interface Recipient {
  readonly id: number;
  readonly email: string;
  readonly reason: "mentioned" | "assigned" | "unassigned" | "subscribed" | "takes part" | "watches";
}

/** Whether somebody is told now: all that counts may have changed since it happened. */
export async function recipientOf(db: Db, told: Notification, userId: number): Promise<Recipient | undefined> {
  const [candidate] = await candidatesOf(db, told, userId - 1, 1);
  return candidate === userId ? (await recipientsAmong(db, told, [userId]))[0] : undefined;
}

/** Those of some people who may see what they are told, want to hear of it and have a confirmed address. */
export async function recipientsAmong(db: Db, told: Notification, ids: readonly number[]): Promise<Recipient[]> {
  const others = ids.filter((id) => id !== told.author_id);
  const isInternal = await isInternalNote(db, told);
  if (isInternal === undefined) return [];
  const readers = await told.item.kind.readers(db, told.item.id, others, isInternal);
  return readers.length === 0 ? [] : thoseWhoWant(db, told, readers);
}

/** Whether a notification is about an internal note; undefined if its note was deleted. */
async function isInternalNote(
  db: Db,
  {
    note_id,
    item: {
      kind: { column },
      id,
    },
  }: Notification,
): Promise<boolean | undefined> {
  if (note_id === undefined) return false;
  const { rows } = await sql<{ internal: boolean }>`
    select internal from notes where id = ${note_id} and ${sql.ref(column)} = ${id}`.execute(db);
  return rows[0]?.internal;
}

async function thoseWhoWant(db: Db, told: Notification, ids: readonly number[]): Promise<Recipient[]> {
  const { kind, id } = told.item;
  const is = (people: readonly number[]) => sql`u.id = any(${people}::bigint[])`;
  const { rows } = await sql<Recipient>`
    select u.id, coalesce(other.email, u.email) as email, wanted.reason
    from ${rowsWithContainer(kind)}
    cross join users u
    left join notification_settings everywhere
      on everywhere.user_id = u.id and everywhere.group_id is null and everywhere.project_id is null
    left join emails other
      on other.id = everywhere.email_id and other.user_id = u.id and other.confirmed_at is not null
    left join subscriptions own on ${sql.ref(`own.${kind.column}`)} = ${id} and own.user_id = u.id
    cross join lateral (
      select coalesce(${nearestLevel(kind)}, everywhere.level, 'participating') as level) chosen
    cross join lateral (
      select case
        when chosen.level = 'disabled' or own.subscribed = false then null
        when ${is(told.mentioned)} then 'mentioned'
        when own.subscribed then 'subscribed'
        when chosen.level = 'mention' then null
        when ${is(told.assigned)} then 'assigned'
        when ${is(told.unassigned)} then 'unassigned'
        when ${takesPart(kind, sql`u.id`)} then 'takes part'
        when chosen.level = 'watch' then 'watches'
      end as reason) wanted
    where ${idOfRow(kind)} = ${id} and ${is(ids)} and wanted.reason is not null
      and u.user_type = 'human' and u.confirmed_at is not null and u.removal_began_at is null
    order by u.id`.execute(db);
  return rows;
}

/** The level that the row of `users as u` set for the project, or else for the nearest group above the item. */
function nearestLevel({ container }: ItemKind): RawBuilder<unknown> {
  const ofGroup = sql`(select s.level from notification_settings s
    where s.user_id = u.id and s.group_id = any(n.traversal_ids)
    order by array_position(n.traversal_ids, s.group_id) desc limit 1)`;
  if (container === "group") return ofGroup;
  return sql`coalesce(
    (select s.level from notification_settings s where s.user_id = u.id and s.project_id = p.id), ${ofGroup})`;
}
