import type { Db } from "#db/database.ts";
import type { UserSummary } from "./entity.ts";
import { presentSummary } from "./present.ts";
import { summariesOf } from "./queries.ts";

/** Users as everybody sees them, by id; nobody for null. */
export type UsersById = ReadonlyMap<number | null, UserSummary>;

/** The users with some ids with one statement. */
export async function usersById(db: Db, ids: readonly (number | null)[], site: string): Promise<UsersById> {
  const found = await summariesOf(db, [...new Set(ids.filter((id) => id !== null))]);
  return new Map(found.map((user) => [user.id, presentSummary(site)(user)]));
}
