import { type RawBuilder, sql } from "kysely";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Db } from "#db/database.ts";
import { idOfRow, rowsWithContainer } from "#domains/conversation/items/item.ts";
import type { Notification } from "./notify.ts";

/**
 * People after an id who may have to be told, in the order of their ids. Each source is read up to the end of the batch,
 * so that memory does not grow with the number of those who watch.
 */
export async function candidatesOf(db: Db, told: Notification, after: number, most: number): Promise<number[]> {
  const take: Take = (userId, source) =>
    sql`(select distinct ${sql.ref(userId)} as user_id ${source} and ${sql.ref(userId)} > ${after}
      order by 1 limit ${sql.lit(most)})`;
  const named = [...told.assigned, ...told.unassigned, ...told.mentioned];
  const sources = [take("user_id", sql`from unnest(${named}::bigint[]) user_id where true`)];
  if (told.what.length > 0)
    sources.push(...participants(told, take), ...watchers(await placesOf(db, told), take, after));
  const { rows } = await sql<{ user_id: number }>`
    ${sql.join(sources, sql` union `)} order by user_id limit ${sql.lit(most)}`.execute(db);
  return rows.map(({ user_id }) => user_id);
}

/** Selects the next people of a source: what follows `select`, up to its conditions. */
type Take = (userId: string, source: RawBuilder<unknown>) => RawBuilder<unknown>;

function participants({ item: { kind, id } }: Notification, take: Take): RawBuilder<unknown>[] {
  const { table, people, column } = kind;
  const item = sql.ref(column);
  return [
    take("author_id", sql`from ${sql.table(table)} where id = ${id}`),
    ...people.map((each) => take("user_id", sql`from ${sql.table(each)} where ${item} = ${id}`)),
    take("author_id", sql`from notes where ${item} = ${id} and not system`),
    take("user_id", sql`from subscriptions where ${item} = ${id} and subscribed`),
  ];
}

/** Where people watch an item: its project, the groups above it, and the groups that any of these is shared with. */
interface Places {
  readonly project_id: number | null;
  readonly group_ids: readonly number[];
  readonly invited_ids: readonly number[];
}

async function placesOf(db: Db, { item: { kind, id } }: Notification): Promise<Places> {
  const projectId = kind.container === "project" ? sql`p.id` : sql`null::bigint`;
  const { rows } = await sql<Places>`
    select project_id, group_ids, array(
      select distinct unnest(g.traversal_ids) from shares s join namespaces g on g.id = s.with_group_id
      where (s.project_id = place.project_id or s.group_id = any(place.group_ids)) and ${sql.raw(live("s"))}
    ) as invited_ids
    from (
      select ${projectId} as project_id, n.traversal_ids as group_ids
      from ${rowsWithContainer(kind)} where ${idOfRow(kind)} = ${id}) place`.execute(db);
  return rows[0] ?? { project_id: null, group_ids: [], invited_ids: [] };
}

/** Those who watch the project or a group above it, and members who watch everything. */
function watchers({ project_id, group_ids, invited_ids }: Places, take: Take, after: number): RawBuilder<unknown>[] {
  const watching = (where: RawBuilder<unknown>) =>
    take("w.user_id", sql`from notification_settings w where w.level = 'watch' and ${where}`);
  // Both sides of the join begin after the id: PostgreSQL does not conclude one from the other.
  const membersWatching = (where: RawBuilder<unknown>) =>
    take(
      "m.user_id",
      sql`from members m join notification_settings w
          on w.user_id = m.user_id and w.level = 'watch' and w.group_id is null and w.project_id is null
        where m.access_level >= ${sql.lit(LEVELS.guest)} and ${sql.raw(live("m"))} and w.user_id > ${after}
          and ${where}`,
    );
  // Each group by itself, so that an index has the order.
  const inEach = (ids: readonly number[], source: RawBuilder<unknown>) =>
    sql`(select user_id from unnest(${ids}::bigint[]) place (id) cross join lateral ${source} some_users)`;
  return [
    watching(sql`w.project_id = ${project_id}`),
    membersWatching(sql`m.project_id = ${project_id}`),
    inEach(group_ids, watching(sql`w.group_id = place.id`)),
    inEach([...group_ids, ...invited_ids], membersWatching(sql`m.group_id = place.id`)),
  ];
}
