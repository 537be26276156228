import { sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import type { Item, PeopleTable } from "#domains/conversation/items/item.ts";
import { recordChanges } from "./system-notes.ts";
import { usableByUser } from "./visibility.ts";

/** Those of some users, in their order, who may use a feature of a project and are active. */
export async function possibleAssignees(
  db: Db,
  projectId: number,
  feature: "issues" | "merge_requests",
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: number }>`
    select u.id from users u, projects p join namespaces n on n.id = p.namespace_id
    where u.id = any(${ids}::bigint[]) and u.state = 'active' and p.id = ${projectId}
      and ${usableByUser(feature)}`.execute(db);
  const possible = new Set(rows.map(({ id }) => id));
  return [...new Set(ids)].filter((id) => possible.has(id));
}

interface Assignees {
  readonly assignee_ids?: readonly number[] | null;
  readonly assignee_id?: number | null;
}

/** The assignees that a request names, by a list or one; undefined if it names none. */
export function namedAssignees({ assignee_ids, assignee_id }: Assignees): readonly number[] | undefined {
  if (assignee_ids !== undefined) return assignee_ids ?? [];
  return assignee_id === undefined ? undefined : assignee_id ? [assignee_id] : [];
}

/** Whom a change assigned, and who is no longer. */
export interface ChangedAssignees {
  readonly added: readonly number[];
  readonly removed: readonly number[];
}

/** Replaces the people in a table of those who are asked to work on an item. */
export async function setPeople(
  tx: Tx,
  table: PeopleTable,
  { kind: { column }, id }: Item,
  userIds: readonly number[],
): Promise<ChangedAssignees> {
  const [people, item] = [sql.table(table), sql.ref(column)];
  const { rows } = await sql<ChangedAssignees>`
    with added as (
      insert into ${people} (${item}, user_id) select ${id}, unnest(${userIds}::bigint[])
      on conflict do nothing returning user_id
    ), removed as (
      delete from ${people} where ${item} = ${id} and not (user_id = any(${userIds}::bigint[]))
      returning user_id
    )
    select array(select user_id from added) as added, array(select user_id from removed) as removed`.execute(tx);
  return rows[0] ?? { added: [], removed: [] };
}

/** Records whom a change assigned, and who is no longer. */
export async function recordPeople(
  tx: Tx,
  item: Item,
  userId: number,
  { added, removed }: ChangedAssignees,
  say: (added: readonly string[], removed: readonly string[]) => string,
) {
  const people = await tx
    .selectFrom("users as u")
    .select(["u.id", "u.username"])
    .where("u.id", "=", sql<number>`any(${[...added, ...removed]}::bigint[])`)
    .orderBy("u.id")
    .execute();
  const namesOf = (ids: readonly number[]) => people.flatMap(({ id, username }) => (ids.includes(id) ? username : []));
  await recordChanges(tx, item, userId, [say(namesOf(added), namesOf(removed))]);
}
