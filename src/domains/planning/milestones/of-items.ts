import { type RawBuilder, sql } from "kysely";
import type { ProjectSeen } from "#access/containers.ts";
import type { Db, Tx } from "#db/database.ts";
import type { Filter, Rows } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { isAvailableIn, type LabelContainer, nearestFirst, ofProject } from "#domains/planning/items/containers.ts";
import { idOfRow, type ItemKind, rowsOf } from "#domains/conversation/items/item.ts";
import { type Milestone, presentMilestone } from "./entity.ts";
import { availableMilestones, milestones, type MilestoneRow, today } from "./queries.ts";

/** The kinds of items that have milestones. */
type Planned = ItemKind & { readonly container: "project" };

const of = ({ alias }: Planned, name: string): RawBuilder<unknown> => sql.ref(`${alias}.${name}`);

/** Whether the row of `milestones as m` is of the project of an item or a group above: projects may be moved away. */
const isAvailableTo = (kind: Planned): Condition => sql`(m.project_id = ${of(kind, "project_id")} or exists (
  select from projects ip join namespaces above on above.id = ip.namespace_id
  where ip.id = ${of(kind, "project_id")} and m.group_id = any(above.traversal_ids)))`;

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

/** The condition on rows of a kind for a filter by milestone. The offset forces a lookup for each row. */
export function ofMilestone(kind: Planned, value: Value): Filter {
  if (value === undefined || value === "") return undefined;
  const isNone = wordOf(value) === "none";
  const has = sql<boolean>`exists (select from milestones m
    where m.id = ${of(kind, "milestone_id")} and ${isNone ? sql`true` : milestoneNamed(value)}
      and ${isAvailableTo(kind)} offset 0)`;
  return isNone ? sql`not ${has}` : has;
}

/**
 * The ids of the rows of a kind that such a filter finds, of one project or any; most have some milestone, or none. The
 * offsets force a lookup for each milestone.
 */
export function inMilestone(kind: Planned, value: Value, project?: LabelContainer): Rows | undefined {
  if (value === undefined || ["", "any", "none"].includes(wordOf(value))) return undefined;
  const [available, inProject] =
    project && "project_id" in project
      ? [isAvailableIn(project, "m"), sql`${of(kind, "project_id")} = ${project.project_id}`]
      : [sql`true`, sql`true`];
  return sql`(select item.id from (select m.id from milestones m where ${milestoneNamed(value)} and ${available} offset 0) m
    cross join lateral (
      select ${idOfRow(kind)} from ${rowsOf(kind)} where ${of(kind, "milestone_id")} = m.id and ${inProject} offset 0
    ) item)`;
}

export const dueDateOfMilestone = (kind: Planned): RawBuilder<unknown> => sql`(
  select m.due_date from milestones m where m.id = ${of(kind, "milestone_id")} and ${isAvailableTo(kind)})`;

/** The milestones of items of a kind, by the ids of the items. */
export async function milestonesOf(
  db: Db,
  kind: Planned,
  rows: readonly { readonly id: number; readonly milestone_id: number | null }[],
  site: string,
): Promise<ReadonlyMap<number, Milestone>> {
  const ids = rows.filter(({ milestone_id }) => milestone_id !== null).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const planned = sql<{ item_id: number; milestone_id: number }>`(
    select ${idOfRow(kind)} as item_id, m.id as milestone_id
    from ${rowsOf(kind)} join milestones m on m.id = ${of(kind, "milestone_id")}
    where ${idOfRow(kind)} = any(${ids}::bigint[]) and ${isAvailableTo(kind)})`;
  const found = await milestones(db)
    .innerJoin(planned.as("planned"), "planned.milestone_id", "m.id")
    .select("planned.item_id")
    .execute();
  return new Map(found.map(({ item_id, ...milestone }) => [item_id, presentMilestone(site)(milestone)]));
}

/**
 * The milestone that a request names, locked against deletion; null for none, undefined if the request says nothing
 * about it. One that the project may not use is ignored.
 */
export async function namedMilestone(
  write: {
    readonly tx: Tx;
    readonly project: Pick<ProjectSeen, "id" | "traversal_ids">;
    ignored(name: string): void;
  },
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
  { milestone_id }: { readonly milestone_id: number | null },
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
