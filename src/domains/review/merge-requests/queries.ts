import { type RawBuilder, sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import type { PeopleTable } from "#domains/conversation/items/item.ts";

const peopleIn = (table: PeopleTable): RawBuilder<number[]> =>
  sql`array(select a.user_id from ${sql.table(table)} a where a.merge_request_id = mr.id order by a.user_id)`;

/** Merge requests with the ids of their assignees and reviewers and without their descriptions, as rows of `mr`. */
export const mergeRequests = (db: Db) =>
  db
    .selectFrom("merge_requests as mr")
    .select(["mr.id", "mr.project_id", "mr.iid", "mr.author_id", "mr.created_at", "mr.updated_at"])
    .select(["mr.closed_at", "mr.closed_by_id", "mr.state", "mr.title", "mr.milestone_id", "mr.discussion_locked"])
    .select(["mr.squash", "mr.remove_source_branch", "mr.source_branch", "mr.target_branch", "mr.head_commit_id"])
    .select(["mr.task_count", "mr.completed_task_count"])
    .select([
      peopleIn("merge_request_assignees").as("assignee_ids"),
      peopleIn("merge_request_reviewers").as("reviewer_ids"),
    ]);

export type MergeRequestRow = Awaited<ReturnType<ReturnType<typeof mergeRequests>["executeTakeFirstOrThrow"]>> & {
  readonly description?: string | null;
};
export type DescribedMergeRequest = MergeRequestRow & { readonly description: string | null };

const ofProject = (db: Db, project: ProjectSeen, iid: number) =>
  mergeRequests(db)
    .where("mr.project_id", "=", project.id)
    .where(sql<boolean>`mr.iid = ${iid}::bigint`);

/** Finds a merge request of a project by its number. Whoever may use the merge requests of a project sees them all. */
export const requireMergeRequest = async (db: Db, project: ProjectSeen, iid: number): Promise<MergeRequestRow> =>
  (await ofProject(db, project, iid).executeTakeFirst()) ?? noMergeRequest();

/** The same with its description, locked against other changes. */
export const lockMergeRequest = async (tx: Tx, project: ProjectSeen, iid: number): Promise<DescribedMergeRequest> =>
  (await ofProject(tx, project, iid).select("mr.description").forUpdate("mr").executeTakeFirst()) ?? noMergeRequest();

const noMergeRequest = (): never => {
  throw new Refusal("missing", "404 Not found");
};
