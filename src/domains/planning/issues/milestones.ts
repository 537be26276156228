import { sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import type { Db, Tx } from "#db/database.ts";
import type { Filter, Rows } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { isAvailableIn, type LabelContainer, nearestFirst, ofProject } from "#domains/planning/items/labels.ts";
import { presentMilestone } from "#domains/planning/milestones/entity.ts";
import { availableMilestones, milestones, type MilestoneRow, today } from "#domains/planning/milestones/queries.ts";
import type { Issue } from "./entity.ts";
import type { IssueRow } from "./queries.ts";
import type { IssueWrite } from "./rights.ts";

/** Whether the row of `milestones as m` is of the project of `issues as i` or a group above: projects may be moved away. */
const isAvailableToIssue: Condition = sql`(m.project_id = i.project_id or exists (
  select from projects ip join namespaces above on above.id = ip.namespace_id
  where ip.id = i.project_id and m.group_id = any(above.traversal_ids)))`;

/** What the words of filters mean; milestones without dates are never under way. */
const WORDS: Readonly<Record<string, Condition>> = {
  any: sql`true`,
  upcoming: sql`m.state = 'active' and m.start_date > ${today}`,
  started: sql`m.state = 'active' and coalesce(m.start_date, m.due_date) is not null
    and m.start_date <= ${today} is not false and m.due_date >= ${today} is not false`,
};

type Value = string | number | undefined;

// Some clients write a sign before these words.
const wordOf = (value: string | number) => (value === 0 ? "none" : String(value).toLowerCase().replace(/^#/, ""));

/** The condition on `milestones as m` that a filter means, by an id, a word or a title. */
function milestoneNamed(value: string | number): Condition {
  const word = WORDS[wordOf(value)];
  if (word) return word;
  return typeof value === "number" ? sql`m.id = ${value}` : sql`m.title = ${value}`;
}

/** The condition on `issues as i` for a filter by milestone. The offset forces a lookup for each row. */
export function ofMilestone(value: Value): Filter {
  if (value === undefined || value === "") return undefined;
  const isNone = wordOf(value) === "none";
  const has = sql<boolean>`exists (select from milestones m
    where m.id = i.milestone_id and ${isNone ? sql`true` : milestoneNamed(value)} and ${isAvailableToIssue} offset 0)`;
  return isNone ? sql`not ${has}` : has;
}

/**
 * The ids of the issues that such a filter finds, of one project or any; most issues have some milestone, or none. The
 * offsets force a lookup for each milestone.
 */
export function inMilestone(value: Value, project?: LabelContainer): Rows | undefined {
  if (value === undefined || ["", "any", "none"].includes(wordOf(value))) return undefined;
  const [available, inProject] =
    project && "project_id" in project
      ? [isAvailableIn(project, "m"), sql`i.project_id = ${project.project_id}`]
      : [sql`true`, sql`true`];
  return sql`(select i.id from (select m.id from milestones m where ${milestoneNamed(value)} and ${available} offset 0) m
    cross join lateral (select i.id from issues i where i.milestone_id = m.id and ${inProject} offset 0) i)`;
}

export const DUE_DATE_OF_MILESTONE = sql`(
  select m.due_date from milestones m where m.id = i.milestone_id and ${isAvailableToIssue})`;

/** The milestones of issues, by the ids of the issues. */
export async function milestonesOf(
  db: Db,
  rows: readonly IssueRow[],
  site: string,
): Promise<ReadonlyMap<number, Issue["milestone"]>> {
  const ids = rows.filter(({ milestone_id }) => milestone_id !== null).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const found = await milestones(db)
    .innerJoin("issues as i", "i.milestone_id", "m.id")
    .select("i.id as issue_id")
    .where("i.id", "=", sql<number>`any(${ids}::bigint[])`)
    .where(isAvailableToIssue)
    .execute();
  return new Map(found.map(({ issue_id, ...milestone }) => [issue_id, presentMilestone(site)(milestone)]));
}

/**
 * The milestone that a request names, locked against deletion; null for none, undefined if the request says nothing
 * about it. One that the project may not use is ignored.
 */
export async function namedMilestone(
  write: Pick<IssueWrite, "tx" | "ignored"> & { readonly project: Pick<ProjectSeen, "id" | "traversal_ids"> },
  id: number | null | undefined,
): Promise<MilestoneRow | null | undefined> {
  if (id === undefined) return undefined;
  if (!id) return null;
  const found = await availableMilestones(write.tx, ofProject(write.project))
    .where("m.id", "=", id)
    .forKeyShare("m")
    .executeTakeFirst();
  if (!found) write.ignored("milestone_id");
  return found;
}

/** The milestone of an issue in the project that it moves to: the same one of a group, or one of the same title. */
export async function milestoneInTarget(
  tx: Tx,
  { milestone_id }: IssueRow,
  target: ProjectSeen,
): Promise<number | null> {
  if (milestone_id === null) return null;
  const isNamesake = sql<boolean>`m.title = (select title from milestones where id = ${milestone_id})`;
  const container = ofProject(target);
  const found = await availableMilestones(tx, container)
    .where((or) => or.or([or("m.id", "=", milestone_id), isNamesake]))
    .orderBy(sql`m.id <> ${milestone_id}`)
    .orderBy(nearestFirst(container, "m"))
    .forKeyShare("m")
    .limit(1)
    .executeTakeFirst();
  return found?.id ?? null;
}
