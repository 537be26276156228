import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { userSummaries } from "#domains/identity/users/queries.ts";
import type { Item } from "#domains/conversation/items/item.ts";

/**
 * The people who take part in an item: its author, those who are asked to work on it, and those who commented. The
 * author of an internal note is one of them only for those who see such notes.
 */
export function participantsOf(db: Db, { kind: { table, people, column }, id }: Item, seesInternal: boolean) {
  const item = sql.ref(column);
  const taking = [
    sql`select author_id from ${sql.table(table)} where id = ${id}`,
    ...people.map((each) => sql`select user_id from ${sql.table(each)} where ${item} = ${id}`),
    sql`select author_id from notes where ${item} = ${id} and not system ${seesInternal ? sql`` : sql`and not internal`}`,
  ];
  return userSummaries(db).where(sql<boolean>`u.id in (${sql.join(taking, sql` union all `)})`);
}
