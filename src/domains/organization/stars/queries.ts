import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { summaryColumns } from "#domains/identity/users/queries.ts";
import { matches, parseLocalSearch } from "#domains/identity/users/search.ts";

export const starrers = (db: Db, projectId: number) =>
  db
    .selectFrom("stars as s")
    .innerJoin("users as u", "u.id", "s.user_id")
    .select([...summaryColumns, "s.created_at as starred_since"])
    .where("s.project_id", "=", projectId);

/** The users who starred a project, except private profiles that the caller may not see. */
export const listStarrers = (projectId: number, actor: Actor | null, search: string | undefined): Listing => ({
  from: "users as u",
  sources: [
    { scan: sql`(select u.* from stars s join users u on u.id = s.user_id where s.project_id = ${projectId})` },
  ],
  filters: [
    !isAdministrator(actor) && sql`(not u.private_profile or u.id = ${actor?.user.id ?? 0})`,
    search?.trim() && matches(parseLocalSearch(search)),
  ],
});
