import { sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import { unprocessable } from "#lib/refusal.ts";
import { issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { POSITION_STEP } from "./new-issue.ts";
import type { IssuePosition } from "./params.ts";
import { type IssueRow, lockIssue, noIssue } from "./queries.ts";
import { type IssueWrite, refuseUnlessManager } from "./rights.ts";

/** How many issues get other positions if there is no room left between two. */
const MAX_SPREAD = 1000;

/** Places an issue after or before another one, or between two, in the order `relative_position`. */
export async function reorderIssue(write: IssueWrite, params: Static<typeof IssuePosition>): Promise<IssueRow> {
  const { tx, project, actor } = write;
  const issue = await lockIssue(tx, project, actor, params.issue_iid);
  refuseUnlessManager(write);
  const after = await positionOf(write, params.move_after_id);
  const before = await positionOf(write, params.move_before_id);
  const position = await positionBetween(tx, issue, after, before);
  await tx.updateTable("issues").set({ relative_position: position }).where("id", "=", issue.id).execute();
  return issue;
}

/** The position of an issue of any project: the lists of a group have those of several. */
async function positionOf({ tx, actor }: IssueWrite, id: number | undefined): Promise<number | undefined> {
  if (id === undefined) return undefined;
  const { rows } = await sql<{ position: number }>`
    select coalesce(i.relative_position, i.iid * ${sql.lit(POSITION_STEP)}::bigint) as position
    from issues i join projects p on p.id = i.project_id where i.id = ${id} and ${issueVisibleTo(actor)}`.execute(tx);
  return rows[0]?.position ?? noIssue();
}

async function positionBetween(tx: Tx, issue: IssueRow, after: number | undefined, before: number | undefined) {
  const isBetween = after !== undefined && before !== undefined && after < before;
  if (after === undefined) return middle(tx, issue, await nextTo(tx, issue, "before", before!), before!);
  return middle(tx, issue, after, isBetween ? before : await nextTo(tx, issue, "after", after));
}

/** The position of the nearest other issue before or after a position, or a distant one if there is none. */
async function nextTo(tx: Tx, { id, project_id }: IssueRow, side: "before" | "after", position: number) {
  const [nearest, comparison] = side === "after" ? [sql`min`, sql`>`] : [sql`max`, sql`<`];
  const { rows } = await sql<{ position: number | null }>`
    select ${nearest}(relative_position) as position from issues
    where project_id = ${project_id} and id <> ${id} and relative_position ${comparison} ${position}`.execute(tx);
  return rows[0]?.position ?? position + 2 * POSITION_STEP * (side === "after" ? 1 : -1);
}

async function middle(tx: Tx, issue: IssueRow, after: number, before: number): Promise<number> {
  if (before - after > 1) return Math.floor((after + before) / 2);
  await spreadAfter(tx, issue.project_id, after);
  const next = await nextTo(tx, issue, "after", after);
  if (next - after <= 1) throw unprocessable("There is no room between these issues; place it elsewhere");
  return Math.floor((after + next) / 2);
}

/** Distributes the issues that follow a position evenly, up to where the last of them was or beyond the end. */
async function spreadAfter(tx: Tx, projectId: number, position: number) {
  const start = sql`${position}::bigint`;
  await sql`
    with following as (
      select id, relative_position, row_number() over (order by relative_position, id) as rank from issues
      where project_id = ${projectId} and relative_position > ${start}
      order by relative_position, id limit ${sql.lit(MAX_SPREAD)}
    ), room as (
      select count(*) + 1 as parts, case count(*) when ${sql.lit(MAX_SPREAD)} then max(relative_position) - ${start}
        else (count(*) + 1) * ${sql.lit(POSITION_STEP)} end as length
      from following
    )
    update issues i set relative_position = ${start} + length * rank / parts
    from following f, room where i.id = f.id`.execute(tx);
}
