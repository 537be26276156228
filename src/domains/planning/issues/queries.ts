import { sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { issueVisibleIn, issueVisibleTo } from "#domains/planning/items/visibility.ts";

/** Issues with the ids of their assignees and without their descriptions, as rows of `i`. */
export const issues = (db: Db) =>
  db
    .selectFrom("issues as i")
    .select(["i.id", "i.project_id", "i.iid", "i.author_id", "i.created_at", "i.updated_at", "i.closed_at", "i.state"])
    .select(["i.title", "i.issue_type", "i.confidential", "i.discussion_locked", "i.weight"])
    .select(["i.start_date", "i.due_date", "i.closed_by_id", "i.moved_to_id", "i.milestone_id"])
    .select(["i.task_count", "i.completed_task_count"])
    .select(
      sql<number[]>`array(select a.user_id from issue_assignees a where a.issue_id = i.id order by a.user_id)`.as(
        "assignee_ids",
      ),
    );

export type IssueRow = Awaited<ReturnType<ReturnType<typeof issues>["executeTakeFirstOrThrow"]>> & {
  readonly description?: string | null;
};
export type DescribedIssue = IssueRow & { readonly description: string | null };

/** Finds an issue of a project by its number; one that the caller may not see is answered like a missing one. */
export async function requireIssue(db: Db, project: ProjectSeen, actor: Actor | null, iid: number): Promise<IssueRow> {
  return (await visibleIssue(db, project, actor, iid).executeTakeFirst()) ?? noIssue();
}

/** The same with its description, locked against other changes. */
export async function lockIssue(tx: Tx, project: ProjectSeen, actor: Actor, iid: number): Promise<DescribedIssue> {
  const locked = visibleIssue(tx, project, actor, iid).select("i.description").forUpdate("i");
  return (await locked.executeTakeFirst()) ?? noIssue();
}

const visibleIssue = (db: Db, project: ProjectSeen, actor: Actor | null, iid: number) =>
  issues(db)
    .where("i.project_id", "=", project.id)
    .where(sql<boolean>`i.iid = ${iid}::bigint`)
    .where(issueVisibleIn(project, actor));

/** Finds an issue of any project by its id. */
export async function requireIssueById(db: Db, actor: Actor, id: number): Promise<IssueRow> {
  const visible = sql<boolean>`exists (select from projects p where p.id = i.project_id and ${issueVisibleTo(actor)})`;
  return (await issues(db).where("i.id", "=", id).where(visible).executeTakeFirst()) ?? noIssue();
}

/** Those of some issues that an actor may see, in no order. */
export const visibleIssues = (db: Db, actor: Actor | null, ids: readonly number[]): Promise<IssueRow[]> =>
  issues(db)
    .innerJoin("projects as p", "p.id", "i.project_id")
    .where("i.id", "=", sql<number>`any(${ids}::bigint[])`)
    .where(issueVisibleTo(actor))
    .execute();

export const noIssue = (): never => {
  throw new Refusal("missing", "404 Not found");
};

/** The names of the labels that an issue has. */
export async function labelNamesOf(db: Db, issueId: number): Promise<string[]> {
  const rows = await db
    .selectFrom("label_links as t")
    .innerJoin("labels as l", "l.id", "t.label_id")
    .select("l.name")
    .where("t.issue_id", "=", issueId)
    .execute();
  return rows.map(({ name }) => name);
}
