import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { groupRemoval, markAnyway } from "#resources/groups/removal.ts";
import { ghostUser } from "./ghost.ts";
import { soleGroups } from "./owned-groups.ts";

const MOST_AT_ONCE = 1000;

/** A user whose removal began. */
export interface Leaving {
  readonly id: number;
  readonly namespace_id: number;
}

/** The user while their removal is not over; with `alone`, nothing new can be theirs until the transaction ends. */
export async function userLeaving(tx: Tx, id: number, alone: boolean): Promise<Leaving | undefined> {
  const query = tx
    .selectFrom("users")
    .select(["id", "namespace_id"])
    .where("id", "=", id)
    .where("removal_began_at", "is not", null);
  return (alone ? query.forUpdate() : query).executeTakeFirst();
}

/** Gives some of the groups that nobody else owns to the job that removes groups; false when there are none. */
export async function removeSomeSoleGroups(tx: Tx, jobs: Jobs, userId: number): Promise<boolean> {
  const groups = await soleGroups(tx, userId);
  if (groups.length === 0) return false;
  const ids = groups.map(({ id }) => id);
  // What is in one of them goes with it.
  const topmost = groups.filter(
    ({ traversal_ids }) => !traversal_ids.slice(0, -1).some((above) => ids.includes(above)),
  );
  for (const marked of await markAnyway(
    tx,
    topmost.map(({ id }) => id),
  )) {
    await jobs.add(tx, groupRemoval, marked);
  }
  await sql`delete from members where user_id = ${userId} and group_id = any(${ids}::bigint[])`.execute(tx);
  return true;
}

/** What ties a user to others, each of whom counts such ties. */
interface Tie {
  readonly table: "stars" | "follows";
  readonly own: string;
  readonly other: string;
  readonly others: "projects" | "users";
  readonly count: string;
}

/** Stars, those who follow the user, and those whom the user follows. */
export const TIES: readonly Tie[] = [
  { table: "stars", own: "user_id", other: "project_id", others: "projects", count: "star_count" },
  { table: "follows", own: "followed_id", other: "follower_id", others: "users", count: "following_count" },
  { table: "follows", own: "follower_id", other: "followed_id", others: "users", count: "followers_count" },
];

/** Cuts some ties of a user, and counts them off; this and what follows says whether there may be more. */
export const cutSomeTies = (tx: Tx, userId: number, tie: Tie): Promise<boolean> => {
  const [table, own, other, count] = [
    sql.table(tie.table),
    ...[tie.own, tie.other, tie.count].map((it) => sql.ref(it)),
  ];
  return many(
    tx,
    sql`with gone as (
      delete from ${table} where ${own} = ${userId} and ${other} = any(array(
        select ${other} from ${table} where ${own} = ${userId} limit ${sql.lit(MOST_AT_ONCE)}))
      returning ${other} as id)
    update ${sql.table(tie.others)} set ${count} = ${count} - 1 where id in (select id from gone)`,
  );
};

export const removeSomeMemberships = (tx: Tx, userId: number): Promise<boolean> =>
  many(tx, sql`delete from members where id = any(array(${idsIn("members", sql`user_id = ${userId}`)}))`);

export const removeSomeTokens = (tx: Tx, userId: number): Promise<boolean> =>
  many(
    tx,
    sql`delete from personal_access_tokens
      where id = any(array(${idsIn("personal_access_tokens", sql`user_id = ${userId}`)}))`,
  );

/** Gives some deploy keys that a user added to the ghost user: they open for others, who must know whose they were. */
export async function keepSomeDeployKeys(tx: Tx, userId: number): Promise<boolean> {
  const mine = sql`kind = 'deploy' and user_id = ${userId}`;
  const { rows } = await sql`select from keys where ${mine} limit 1`.execute(tx);
  if (rows.length === 0) return false;
  const ghost = await ghostUser(tx);
  return many(
    tx,
    sql`with kept as (
      update keys set user_id = ${ghost} where id = any(array(${idsIn("keys", mine)}))
      returning id, title, fingerprint_sha256)
    insert into audit_events (event, actor_name, target_type, target_id, target_name, details, request_id)
    select 'deploy_key_creator_removed', '', 'DeployKey', id, title,
      jsonb_build_object('fingerprint', fingerprint_sha256, 'creator_id', ${userId}::bigint), '' from kept`,
  );
}

/** What a user made, as another's from now on or nobody's. */
export const handOverSome = (tx: Tx, made: Made, userId: number, heir: number | null): Promise<boolean> => {
  const column = sql.ref(MADE[made]);
  return many(
    tx,
    sql`update ${sql.table(made)} set ${column} = ${heir}
      where id = any(array(${idsIn(made, sql`${column} = ${userId}`)}))`,
  );
};

export type Made = keyof typeof MADE;
const MADE = { projects: "creator_id", namespaces: "creator_id", users: "created_by_id" } as const;

/** Removes an account of which nothing else is left, and the addresses of before in its namespace. */
export async function removeRows(tx: Tx, { id, namespace_id }: Leaving) {
  await tx.deleteFrom("users").where("id", "=", id).execute();
  await tx.deleteFrom("routes").where("parent_id", "=", namespace_id).execute();
  await tx.deleteFrom("namespaces").where("id", "=", namespace_id).execute();
}

const idsIn = (table: string, condition: RawBuilder<unknown>) =>
  sql`select id from ${sql.table(table)} where ${condition} limit ${sql.lit(MOST_AT_ONCE)}`;

async function many(tx: Tx, statement: RawBuilder<unknown>): Promise<boolean> {
  const { numAffectedRows = 0n } = await statement.execute(tx);
  return numAffectedRows >= MOST_AT_ONCE;
}
