import { sql } from "kysely";
import { archivedAbove } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { order } from "#db/lists/order.ts";
import { forbidden, unprocessable } from "#lib/refusal.ts";
import { issues } from "#domains/planning/issues/queries.ts";
import { issueVisibleTo } from "#domains/planning/items/visibility.ts";
import type { EpicWrite } from "./new-epic.ts";
import type { NewPosition } from "./params.ts";
import { lastPosition, reposition } from "./positions.ts";
import { type EpicRow, lockEpic, noEpic } from "./queries.ts";

/** How many issues an epic may have. */
const MAX_ISSUES = 5000;
/** How many a response shows that is no page. */
const MAX_SHOWN = 100;

export const ISSUES_PAGING = {
  id: "l.id",
  orders: { relative_position: order("l.relative_position", "bigint") },
} as const;

/** The issues of an epic that the actor may see. */
export const issuesOf = (db: Db, epicId: number, actor: Actor | null) =>
  issues(db)
    .innerJoin("epic_issues as l", "l.issue_id", "i.id")
    .innerJoin("projects as p", "p.id", "i.project_id")
    .select(["l.id as epic_issue_id", "l.relative_position"])
    .where("l.epic_id", "=", epicId)
    .where(issueVisibleTo(actor));

export type IssueOfEpicRow = Awaited<ReturnType<ReturnType<typeof issuesOf>["executeTakeFirstOrThrow"]>>;

export const firstIssues = (db: Db, epicId: number, actor: Actor | null): Promise<IssueOfEpicRow[]> =>
  issuesOf(db, epicId, actor)
    .orderBy(sql`l.relative_position, l.id`)
    .limit(sql.lit(MAX_SHOWN))
    .execute();

/** An epic and one of its issues. */
export interface Joined {
  readonly epic: EpicRow;
  readonly issue: IssueOfEpicRow;
}

/** Adds an issue to an epic, after the others; it leaves the epic that it was in. */
export async function addIssue(write: EpicWrite, iid: number, issueId: number): Promise<Joined> {
  const { tx, group, actor } = write;
  const epic = await lockEpic(tx, group, actor, iid);
  const issue = await lockIssueToAdd(write, issueId);
  if (issue.is_archived) throw forbidden("The project is archived");
  if (epic.confidential && !issue.confidential) {
    throw unprocessable("A confidential epic cannot have an issue that is not confidential");
  }
  if (issue.epic_id !== epic.id) await joinEpic(write, epic.id, issueId);
  return { epic, issue: await requireIssueOfEpic(tx, epic.id, actor, sql`i.id = ${issueId}`) };
}

interface IssueToAdd {
  readonly confidential: boolean;
  readonly epic_id: number | null;
  readonly is_archived: boolean;
}

/**
 * An issue of a project in the group or below it, locked against changes. Who manages the epics of a group manages the
 * issues of all projects below it.
 */
async function lockIssueToAdd({ tx, group, actor }: EpicWrite, id: number): Promise<IssueToAdd> {
  const { rows } = await sql<IssueToAdd>`
    select i.confidential, (select l.epic_id from epic_issues l where l.issue_id = i.id) as epic_id,
      p.archived or ${sql.raw(archivedAbove)} as is_archived
    from issues i join projects p on p.id = i.project_id join namespaces n on n.id = p.namespace_id
    where i.id = ${id} and ${group.id} = any(n.traversal_ids) and ${issueVisibleTo(actor)} for no key update of i`.execute(
    tx,
  );
  return rows[0] ?? noEpic();
}

async function joinEpic({ tx }: EpicWrite, epicId: number, issueId: number) {
  const { count } = await tx
    .selectFrom("epic_issues")
    .select((count) => count.fn.countAll<number>().as("count"))
    .where("epic_id", "=", epicId)
    .executeTakeFirstOrThrow();
  if (count >= MAX_ISSUES) throw unprocessable(`An epic cannot have more than ${MAX_ISSUES} issues`);
  const row = { epic_id: epicId, relative_position: await lastPosition(tx, "epic_issues", epicId) };
  await tx
    .insertInto("epic_issues")
    .values({ ...row, issue_id: issueId })
    .onConflict((conflict) => conflict.column("issue_id").doUpdateSet(row))
    .execute();
}

async function requireIssueOfEpic(
  db: Db,
  epicId: number,
  actor: Actor,
  which: ReturnType<typeof sql<boolean>>,
): Promise<IssueOfEpicRow> {
  return (await issuesOf(db, epicId, actor).where(which).executeTakeFirst()) ?? noEpic();
}

/** Removes an issue from its epic. */
export async function removeIssue({ tx, group, actor }: EpicWrite, iid: number, id: number): Promise<Joined> {
  const epic = await lockEpic(tx, group, actor, iid);
  const issue = await requireIssueOfEpic(tx, epic.id, actor, sql`l.id = ${id}`);
  await tx.deleteFrom("epic_issues").where("id", "=", id).execute();
  return { epic, issue };
}

/** Moves an issue of an epic next to another one. */
export async function moveIssue(
  { tx, group, actor }: EpicWrite,
  iid: number,
  id: number,
  position: NewPosition,
): Promise<Joined> {
  const epic = await lockEpic(tx, group, actor, iid);
  const issue = await requireIssueOfEpic(tx, epic.id, actor, sql`l.id = ${id}`);
  const visible = sql`select l.id from epic_issues l join issues i on i.id = l.issue_id
    join projects p on p.id = i.project_id where l.epic_id = ${epic.id} and ${issueVisibleTo(actor)}`;
  await reposition(tx, { table: "epic_issues", epicId: epic.id, visible }, id, position);
  return { epic, issue };
}
