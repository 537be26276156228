import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import { badFields, conflict, forbidden, missing, Refusal } from "#lib/refusal.ts";
import type { Place } from "./access.ts";
import { keepAnOwner } from "./owners.ts";

/** Who changes the members of what. */
export interface Changing {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly place: Place;
}

export interface Worth {
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
}

type Whom = { readonly ids: readonly number[] } | { readonly usernames: readonly string[] };

/** Makes users members; all of them or, where one is refused, none. */
export async function addMembers(changing: Changing, whom: Whom, worth: Worth): Promise<Named[]> {
  const { tx, actor, place } = changing;
  refuseBeyond(changing, worth.access_level);
  const users = await namedUsers(tx, whom);
  const ids = users.map(({ id }) => id);
  await refusePastDay(tx, worth.expires_at);
  await refuseBelowInherited(tx, place, ids, worth.access_level);
  const column = columnOf(place);
  // A membership that has ended is as if it were not there.
  const { rows } = await sql<{ user_id: number }>`
    insert into members (user_id, ${column}, access_level, expires_at, created_by_id)
    select user_id, ${place.id}, ${worth.access_level}, ${worth.expires_at ?? null}, ${actor.user.id}
    from unnest(${ids}::bigint[]) user_id
    on conflict (${column}, user_id) where ${column} is not null do update
      set access_level = excluded.access_level, expires_at = excluded.expires_at,
        created_by_id = excluded.created_by_id, created_at = excluded.created_at
      where not ${sql.raw(live("members"))}
    returning user_id`.execute(tx);
  if (rows.length < ids.length) throw alreadyMembers(users, new Set(rows.map(({ user_id }) => user_id)));
  return users;
}

/** Gives a member another level or another end; what the membership was before. */
export async function changeMember(changing: Changing, userId: number, worth: Worth): Promise<Membership> {
  const { tx, place } = changing;
  const before = await lockedMembership(changing, userId);
  refuseBeyond(changing, before.access_level);
  refuseBeyond(changing, worth.access_level);
  await refusePastDay(tx, worth.expires_at);
  await refuseBelowInherited(tx, place, [userId], worth.access_level);
  const expires_at = worth.expires_at === undefined ? before.expires_at : worth.expires_at;
  const staysOwner = worth.access_level === LEVELS.owner && expires_at === null;
  if (before.access_level === LEVELS.owner && !staysOwner) await keepAnOwner(tx, place, userId);
  await sql`
    update members set access_level = ${worth.access_level}, expires_at = ${expires_at}
    where ${columnOf(place)} = ${place.id} and user_id = ${userId}`.execute(tx);
  return before;
}

/** Ends a membership; what it was, and when it ended. */
export async function removeMember(changing: Changing, userId: number): Promise<Membership & { at: string }> {
  const { tx, actor, place } = changing;
  const before = await lockedMembership(changing, userId);
  if (userId !== actor.user.id) refuseBeyond(changing, before.access_level);
  if (before.access_level === LEVELS.owner) await keepAnOwner(tx, place, userId);
  const { rows } = await sql<{ at: string }>`
    delete from members where ${columnOf(place)} = ${place.id} and user_id = ${userId}
    returning now()::timestamptz(3) as at`.execute(tx);
  return { ...before, at: rows[0]?.at ?? "" };
}

/** The most that one statement removes. */
export const MOST_AT_ONCE = 1000;

/** Ends memberships of a user in what is below a group, as far as they are older than a moment; how many. */
export async function removeBelow(tx: Tx, groupId: number, userId: number, until: string): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from members where id in (
      select m.id from members m join namespaces n on n.id = m.group_id
      where m.user_id = ${userId} and m.created_at <= ${until} and ${groupId} = any(n.traversal_ids)
      union all
      select m.id from members m join projects p on p.id = m.project_id join namespaces n on n.id = p.namespace_id
      where m.user_id = ${userId} and m.created_at <= ${until} and ${groupId} = any(n.traversal_ids)
      limit ${sql.lit(MOST_AT_ONCE)})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** Forgets memberships that have ended; how many. */
export async function removeEnded(tx: Tx): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from members where id in (
      select id from members m where m.expires_at <= (now() at time zone 'UTC')::date
      limit ${sql.lit(MOST_AT_ONCE)} for update skip locked)`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

const columnOf = ({ kind }: Place) => sql.ref(`${kind}_id`);

export const noSuchMember = () => new Refusal("missing", "404 Not found");

async function lockedMembership({ tx, place }: Changing, userId: number): Promise<Membership> {
  const { rows } = await sql<Membership>`
    select u.username, m.access_level, m.expires_at from members m join users u on u.id = m.user_id
    where ${columnOf(place)} = ${place.id} and m.user_id = ${userId} and ${sql.raw(live("m"))}
    for update of m`.execute(tx);
  const [found] = rows;
  if (!found) throw noSuchMember();
  return found;
}

/** Nobody gives or takes more than they have themselves. */
function refuseBeyond({ actor, place }: Changing, level: number) {
  if (!isAdministrator(actor) && level > place.level) throw forbidden();
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

// The database's clock decides, as it does when the membership is used.
export async function refusePastDay(tx: Tx, day: string | null | undefined) {
  if (!day) return;
  const { rows } = await sql<{ past: boolean }>`
    select ${day}::date <= (now() at time zone 'UTC')::date as past`.execute(tx);
  if (rows[0]?.past) throw badFields({ expires_at: ["must be a day after today"] });
}

/** What a group above gives cannot be taken away below, so a lower level would only look like less. */
async function refuseBelowInherited(tx: Tx, place: Place, userIds: readonly number[], level: number) {
  const above = place.kind === "group" ? place.traversal_ids.slice(0, -1) : place.traversal_ids;
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
