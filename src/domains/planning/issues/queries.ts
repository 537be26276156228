import { sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { issueVisibleIn } from "#domains/planning/items/visibility.ts";

/** Issues with the ids of their assignees, as rows of `i`. */
export const issues = (db: Db) =>
  db
    .selectFrom("issues as i")
    .select(["i.id", "i.project_id", "i.iid", "i.author_id", "i.created_at", "i.updated_at", "i.closed_at", "i.state"])
    .select(["i.title", "i.description", "i.issue_type", "i.confidential", "i.discussion_locked", "i.weight"])
    .select(["i.start_date", "i.due_date", "i.closed_by_id", "i.moved_to_id"])
    .select(
      sql<number[]>`array(select a.user_id from issue_assignees a where a.issue_id = i.id order by a.user_id)`.as(
        "assignee_ids",
      ),
    );

export type IssueRow = Awaited<ReturnType<ReturnType<typeof issues>["executeTakeFirstOrThrow"]>>;

/** Finds an issue of a project by its number; one that the caller may not see is answered like a missing one. */
export async function requireIssue(db: Db, project: ProjectSeen, actor: Actor | null, iid: number): Promise<IssueRow> {
  return (await visibleIssue(db, project, actor, iid).executeTakeFirst()) ?? noIssue();
}

/** The same, locked against other changes. */
export async function lockIssue(tx: Tx, project: ProjectSeen, actor: Actor, iid: number): Promise<IssueRow> {
  return (await visibleIssue(tx, project, actor, iid).forUpdate("i").executeTakeFirst()) ?? noIssue();
}

const visibleIssue = (db: Db, project: ProjectSeen, actor: Actor | null, iid: number) =>
  issues(db).where("i.project_id", "=", project.id).where("i.iid", "=", iid).where(issueVisibleIn(project, actor));

const noIssue = (): never => {
  throw new Refusal("missing", "404 Not found");
};
