import { sql } from "kysely";
import { levelInGroup } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Db } from "#db/database.ts";
import type { People } from "#domains/conversation/items/item.ts";
import { isActiveAmong } from "#domains/planning/items/readers.ts";
import { groupOpenToUser } from "#domains/planning/items/visibility.ts";
import { SEES_CONFIDENTIAL } from "#domains/conversation/notes/visibility.ts";

interface EpicSeen {
  readonly group_id: number;
  readonly confidential: boolean;
}

/** Those of some people who may see an epic. */
export async function readersOfEpic(db: Db, epic: EpicSeen, people: People): Promise<number[]> {
  if (people.length === 0) return [];
  const level = sql.raw(levelInGroup("u.id"));
  const sees = epic.confidential
    ? sql`${level} >= ${sql.lit(LEVELS[SEES_CONFIDENTIAL])}`
    : sql`(${groupOpenToUser} or ${level} >= ${sql.lit(LEVELS.guest)})`;
  const { rows } = await sql<{ id: number }>`
    select u.id from users u, namespaces n
    where ${isActiveAmong(people)} and n.id = ${epic.group_id}
      and (u.admin or ${sees}) order by u.id`.execute(db);
  return rows.map(({ id }) => id);
}

/** The same by the id of the epic, or those who may see an internal note on it. */
export async function readersOfStoredEpic(db: Db, id: number, people: People, internal: boolean): Promise<number[]> {
  if (people.length === 0) return [];
  const { rows } = await sql<EpicSeen>`select e.group_id, e.confidential from epics e where e.id = ${id}`.execute(db);
  const [epic] = rows;
  return epic ? readersOfEpic(db, { ...epic, confidential: epic.confidential || internal }, people) : [];
}
