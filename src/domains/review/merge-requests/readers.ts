import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { People } from "#domains/conversation/items/item.ts";
import { readersInProject, seesConfidential } from "#domains/planning/items/readers.ts";

interface MergeRequestSeen {
  readonly project_id: number;
}

/** Those of some people who may see a merge request, or an internal note on it. */
export async function readersOfMergeRequest(
  db: Db,
  { project_id }: MergeRequestSeen,
  people: People,
  internal = false,
): Promise<number[]> {
  if (people.length === 0) return [];
  const sees = internal ? sql`(u.admin or ${seesConfidential})` : sql`true`;
  return readersInProject(db, project_id, "merge_requests", people, sees);
}

/** The same by the id of the merge request. */
export async function readersOfStoredMergeRequest(db: Db, id: number, people: People, internal: boolean) {
  if (people.length === 0) return [];
  const { rows } = await sql<MergeRequestSeen>`
    select mr.project_id from merge_requests mr where mr.id = ${id}`.execute(db);
  return rows[0] ? readersOfMergeRequest(db, rows[0], people, internal) : [];
}
