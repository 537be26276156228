import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { People } from "#domains/conversation/items/item.ts";
import { readersInProject, seesConfidential } from "#domains/planning/items/readers.ts";

/** An issue that is stored or about to be. */
interface IssueSeen {
  readonly project_id: number;
  readonly confidential: boolean;
  readonly author_id: number | null;
  readonly assignee_ids: readonly number[];
}

/** Those of some people who may see an issue. */
export async function readersOfIssue(db: Db, issue: IssueSeen, people: People): Promise<number[]> {
  if (people.length === 0) return [];
  const isOwn = sql`u.id = any(${[issue.author_id ?? 0, ...issue.assignee_ids]}::bigint[])`;
  const sees = issue.confidential ? sql`(u.admin or ${isOwn} or ${seesConfidential})` : sql`true`;
  return readersInProject(db, issue.project_id, "issues", people, sees);
}

/** The same by the id of the issue, or those who may see an internal note on it. */
export async function readersOfStoredIssue(db: Db, id: number, people: People, internal: boolean): Promise<number[]> {
  if (people.length === 0) return [];
  const { rows } = await sql<IssueSeen>`
    select i.project_id, i.confidential, i.author_id,
      array(select a.user_id from issue_assignees a where a.issue_id = i.id) as assignee_ids
    from issues i where i.id = ${id}`.execute(db);
  const [issue] = rows;
  const seen = issue && internal ? { ...issue, confidential: true, author_id: null, assignee_ids: [] } : issue;
  return seen ? readersOfIssue(db, seen, people) : [];
}
