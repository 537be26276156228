import { type RawBuilder, sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import { badFields, conflict, forbidden, missing, Refusal } from "#lib/refusal.ts";
import { membershipEvents } from "#domains/foundation/events/record.ts";
import type { MemberContainer } from "./access.ts";
import { requireAnotherOwner } from "./owners.ts";

/** Who changes the members of which group or project. */
export interface MemberWrite {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly container: MemberContainer;
}

export interface MembershipTerms {
  readonly access_level: number;
  readonly expires_at?: string | null | undefined;
}

interface Named {
  readonly id: number;
  readonly username: string;
}

interface Membership {
  readonly username: string;
  readonly access_level: number;
  readonly expires_at: string | null;
  readonly updated_at: string;
}

type Whom = { readonly ids: readonly number[] } | { readonly usernames: readonly string[] };

/** Adds all given users as members, or none if one is refused. */
export async function addMembers(write: MemberWrite, whom: Whom, terms: MembershipTerms): Promise<Named[]> {
  const { tx, actor, container } = write;
  refuseBeyond(write, terms.access_level);
  const users = await namedUsers(tx, whom);
  const ids = users.map(({ id }) => id);
  await refusePastDay(tx, terms.expires_at);
  await refuseBelowInherited(tx, container, ids, terms.access_level);
  const column = columnOf(container);
  // An expired membership is overwritten.
  const { rows } = await sql<{ user_id: number }>`
    with added as (
      insert into members (user_id, ${column}, access_level, expires_at, created_by_id)
      select user_id, ${container.id}, ${terms.access_level}, ${terms.expires_at ?? null}, ${actor.user.id}
      from unnest(${ids}::bigint[]) user_id
      on conflict (${column}, user_id) where ${column} is not null do update
        set access_level = excluded.access_level, expires_at = excluded.expires_at,
          created_by_id = excluded.created_by_id, created_at = excluded.created_at, updated_at = excluded.updated_at
        where not ${sql.raw(live("members"))}
      returning user_id, project_id
    ), happened as (${membershipEvents("joined", sql`select * from added`)})
    select user_id from added`.execute(tx);
  if (rows.length < ids.length) throw alreadyMembers(users, new Set(rows.map(({ user_id }) => user_id)));
  return users;
}

/** Changes the level or expiry of a membership; returns the previous state. */
export async function changeMember(write: MemberWrite, userId: number, terms: MembershipTerms): Promise<Membership> {
  const { tx, container } = write;
  const before = await lockedMembership(write, userId);
  refuseBeyond(write, before.access_level);
  refuseBeyond(write, terms.access_level);
  await refusePastDay(tx, terms.expires_at);
  await refuseBelowInherited(tx, container, [userId], terms.access_level);
  const expires_at = terms.expires_at === undefined ? before.expires_at : terms.expires_at;
  const staysOwner = terms.access_level === LEVELS.owner && expires_at === null;
  if (before.access_level === LEVELS.owner && !staysOwner) await requireAnotherOwner(tx, container, userId);
  await sql`
    update members set access_level = ${terms.access_level}, expires_at = ${expires_at}, updated_at = now()
    where ${columnOf(container)} = ${container.id} and user_id = ${userId}`.execute(tx);
  return before;
}

/** Removes a membership; returns what it was and when it was removed. */
export async function removeMember(write: MemberWrite, userId: number): Promise<Membership & { at: string }> {
  const { tx, actor, container } = write;
  const before = await lockedMembership(write, userId);
  if (userId !== actor.user.id) refuseBeyond(write, before.access_level);
  if (before.access_level === LEVELS.owner) await requireAnotherOwner(tx, container, userId);
  const { rows } = await sql<{ at: string }>`
    with removed as (
      delete from members where ${columnOf(container)} = ${container.id} and user_id = ${userId}
      returning user_id, project_id
    ), happened as (${membershipEvents("left", sql`select * from removed`)})
    select now()::timestamptz(3) as at from removed`.execute(tx);
  return { ...before, at: rows[0]?.at ?? "" };
}

/** The number of rows that one statement removes at most. */
export const BATCH_SIZE = 1000;

/** Removes a batch of a user's memberships in and below a group that began before `until`; returns how many. */
export async function removeBelow(tx: Tx, groupId: number, userId: number, until: string): Promise<number> {
  return removeMemberships(
    tx,
    "left",
    sql`
      select m.id from members m join namespaces n on n.id = m.group_id
      where m.user_id = ${userId} and m.created_at <= ${until} and ${groupId} = any(n.traversal_ids)
      union all
      select m.id from members m join projects p on p.id = m.project_id join namespaces n on n.id = p.namespace_id
      where m.user_id = ${userId} and m.created_at <= ${until} and ${groupId} = any(n.traversal_ids)
      limit ${sql.lit(BATCH_SIZE)}`,
  );
}

/** Deletes a batch of expired memberships; returns how many. */
export const removeEnded = (tx: Tx): Promise<number> =>
  removeMemberships(
    tx,
    "expired",
    sql`
      select id from members m where m.expires_at <= (now() at time zone 'UTC')::date
      limit ${sql.lit(BATCH_SIZE)} for update skip locked`,
  );

async function removeMemberships(tx: Tx, action: "left" | "expired", ids: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with removed as (
      delete from members where id in (${ids}) returning user_id, project_id
    ), happened as (${membershipEvents(action, sql`select * from removed`)})
    select count(*)::integer as count from removed`.execute(tx);
  return rows[0]?.count ?? 0;
}

const columnOf = ({ kind }: MemberContainer) => sql.ref(`${kind}_id`);

export const noSuchMember = () => new Refusal("missing", "404 Not found");

async function lockedMembership({ tx, container }: MemberWrite, userId: number): Promise<Membership> {
  const { rows } = await sql<Membership>`
    select u.username, m.access_level, m.expires_at, m.updated_at from members m join users u on u.id = m.user_id
    where ${columnOf(container)} = ${container.id} and m.user_id = ${userId} and ${sql.raw(live("m"))}
    for update of m`.execute(tx);
  const [found] = rows;
  if (!found) throw noSuchMember();
  return found;
}

/** Refuses to grant or remove a level above the caller's own. */
function refuseBeyond({ actor, container }: MemberWrite, level: number) {
  if (!isAdministrator(actor) && level > container.level)
    throw forbidden(`You cannot give or take a role above your own in the ${container.kind}`);
}

async function namedUsers(tx: Tx, whom: Whom): Promise<Named[]> {
  const named = "ids" in whom ? new Set(whom.ids) : new Set(whom.usernames.map((name) => name.toLowerCase()));
  const isNamed =
    "ids" in whom
      ? sql<boolean>`id = any(${[...named]}::bigint[])`
      : sql<boolean>`lower(username) = any(${[...named]}::text[])`;
  const users = await tx.selectFrom("users").select(["id", "username"]).where(isNamed).orderBy("id").execute();
  if (users.length < named.size) throw missing("User");
  return users;
}

// Uses the database's clock, which also decides whether a membership has expired.
export async function refusePastDay(tx: Tx, day: string | null | undefined) {
  if (!day) return;
  const { rows } = await sql<{ past: boolean }>`
    select ${day}::date <= (now() at time zone 'UTC')::date as past`.execute(tx);
  if (rows[0]?.past) throw badFields({ expires_at: ["must be a day after today"] });
}

/** Refuses a level below the inherited one, since it would have no effect. */
async function refuseBelowInherited(tx: Tx, container: MemberContainer, userIds: readonly number[], level: number) {
  const above = container.kind === "group" ? container.traversal_ids.slice(0, -1) : container.traversal_ids;
  const { rows } = await sql<{ access_level: number; name: string }>`
    select m.access_level, g.name from members m join namespaces g on g.id = m.group_id
    where m.group_id = any(${above}::bigint[]) and m.user_id = any(${userIds}::bigint[])
      and m.access_level >= ${sql.lit(LEVELS.guest)} and m.access_level > ${level} and ${sql.raw(live("m"))}
    order by m.access_level desc, cardinality(g.traversal_ids) desc limit 1`.execute(tx);
  const [found] = rows;
  if (!found) return;
  const what = `${levelName(found.access_level)} inherited membership from group ${found.name}`;
  throw badFields({ access_level: [`should be greater than or equal to ${what}`] });
}

function levelName(level: number): string {
  const name = Object.entries(LEVELS).find(([, value]) => value === level)?.[0] ?? "";
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function alreadyMembers(users: readonly Named[], added: ReadonlySet<number>): Refusal {
  const others = users.filter(({ id }) => !added.has(id)).map(({ username }) => username);
  return conflict(users.length === 1 ? "Member already exists" : `Member already exists: ${others.join(", ")}`);
}
