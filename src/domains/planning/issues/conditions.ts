import { sql } from "kysely";
import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Filter, Listing, Rows } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import {
  found,
  isWildcard,
  NOBODY,
  peopleFilters,
  searched,
  userNamed,
  userOf,
  wildcard,
} from "#domains/planning/items/filters.ts";
import { labelFilters } from "#domains/planning/labels/filters.ts";
import type { LabelContainer } from "#domains/planning/items/containers.ts";
import { epicVisibleTo } from "#domains/planning/items/visibility.ts";
import type { IssueFilters } from "./filter-params.ts";
import { ISSUE } from "./kind.ts";
import { inMilestone, ofMilestone } from "#domains/planning/milestones/of-items.ts";

export type Filters = Static<typeof IssueFilters>;
type Without = NonNullable<Filters["not"]>;

/**
 * The conditions on rows of `issues as i` that a request asks for. An index of the issues of a project has the columns
 * of all that are not costly.
 */
export function conditionsOf(
  actor: Actor | null,
  filters: Filters,
  project?: LabelContainer,
): Required<Pick<Listing, "filters" | "costly">> {
  const { state, weight, search } = filters;
  return {
    filters: [
      state !== undefined && state !== "all" && sql`i.state = ${sql.lit(state)}`,
      filters.issue_type && sql`i.issue_type = ${filters.issue_type}`,
      filters.confidential !== undefined && (filters.confidential ? sql`i.confidential` : sql`not i.confidential`),
      filters.iids && sql`i.iid = any(${filters.iids}::integer[])`,
      ...ofTimes(filters),
      filters.due_date && DUE[filters.due_date],
      weight !== undefined && (wildcard(weight, sql`i.weight is not null`) ?? sql`i.weight = ${weight}`),
      ...authorsOf(actor, filters).map((author) => sql<boolean>`i.author_id = ${author}`),
    ],
    costly: [
      ...assigneesOf(actor, filters).map(assignees.includes),
      filters.assignee_id !== undefined && assignees.is(filters.assignee_id),
      ...(filters.labels ?? []).map((name) => labels.has(name, project)),
      ofEpic(actor, filters.epic_id),
      ofMilestone(ISSUE, filters.milestone),
      ofMilestone(ISSUE, filters.milestone_id),
      search?.trim() && searched(ISSUE, search, filters.in ?? []),
      ...(filters.not ? excluded(actor, filters.not, project) : []),
    ],
  };
}

/** The ids of the issues that meet one of the filters; labels and milestones are those of a project, or any. */
export function findersOf(
  actor: Actor | null,
  filters: Filters,
  project?: LabelContainer,
): NonNullable<Listing["finders"]> {
  const { labels: names = [], epic_id, assignee_id } = filters;
  const search = filters.search?.trim() || undefined;
  const isPerson = typeof assignee_id === "number" && assignee_id > 0;
  const people = [...assigneesOf(actor, filters), ...(isPerson ? [userOf(assignee_id)] : [])];
  return [
    search !== undefined && sql`(select i.id from issues i where ${matches(search, sql`i.search_text`)})`,
    ...names.filter((name) => !isWildcard(name)).map((name) => labels.idsOf(name, project)),
    ...people.map(assignees.idsOf),
    ...authorsOf(actor, filters).map((author) => sql`(select i.id from issues i where i.author_id = ${author})`),
    typeof epic_id === "number" && sql`(select t.issue_id as id from epic_issues t where t.epic_id = ${epic_id})`,
    inMilestone(ISSUE, filters.milestone, project),
    inMilestone(ISSUE, filters.milestone_id, project),
  ];
}

function ofTimes({ created_after, created_before, updated_after, updated_before }: Filters): Filter[] {
  const created = "i.created_at";
  const updated = "i.updated_at";
  return [
    created_after && { column: created, where: sql`i.created_at >= ${created_after}` },
    created_before && { column: created, where: sql`i.created_at <= ${created_before}` },
    updated_after && { column: updated, where: sql`i.updated_at >= ${updated_after}` },
    updated_before && { column: updated, where: sql`i.updated_at <= ${updated_before}` },
  ];
}

const today = sql`(now() at time zone 'UTC')::date`;
const within = (from: string, to: string): Condition =>
  sql`i.due_date >= ${sql.raw(from)} and i.due_date < ${sql.raw(to)}`;
const TODAY = "(now() at time zone 'UTC')::date";
const truncated = (unit: string) => `date_trunc('${unit}', now() at time zone 'UTC')`;

/** Days in UTC; weeks begin on Monday. */
const DUE: Readonly<Record<NonNullable<Filters["due_date"]>, Condition>> = {
  "0": sql`i.due_date is null`,
  any: sql`i.due_date is not null`,
  today: sql`i.due_date = ${today}`,
  tomorrow: sql`i.due_date = ${today} + 1`,
  overdue: sql`i.due_date < ${today} and i.state = 'opened'`,
  week: within(truncated("week"), `${truncated("week")} + interval '1 week'`),
  month: within(truncated("month"), `${truncated("month")} + interval '1 month'`),
  next_month_and_previous_two_weeks: within(`${TODAY} - 14`, `${truncated("month")} + interval '2 months'`),
};

const assignees = peopleFilters(ISSUE, "issue_assignees");
const labels = labelFilters(ISSUE);

type Authors = Pick<Filters, "scope" | "author_id" | "author_username">;
type Assignees = Pick<Filters, "scope" | "assignee_username">;
const isOwn = ({ scope }: Pick<Filters, "scope">, word: string) => scope?.startsWith(word) === true;

/** The ids of the people, each of whom must be the author. */
const authorsOf = (actor: Actor | null, { author_id, author_username, ...asked }: Authors): Rows[] => [
  ...(isOwn(asked, "created") ? [actor ? userOf(actor.user.id) : NOBODY] : []),
  ...(author_id === undefined ? [] : [userOf(author_id)]),
  ...(author_username === undefined ? [] : [userNamed(author_username)]),
];

/** The ids of the people, all of whom must be assigned. */
const assigneesOf = (actor: Actor | null, { assignee_username = [], ...asked }: Assignees): Rows[] => [
  ...(isOwn(asked, "assigned") ? [actor ? userOf(actor.user.id) : NOBODY] : []),
  ...assignee_username.map(userNamed),
];

/** Epics that the caller may not see are none. */
function ofEpic(actor: Actor | null, id: Filters["epic_id"]): Filter {
  if (id === undefined) return undefined;
  const inEpic = (which: Condition): Condition =>
    found(sql`select from epic_issues t join epics e on e.id = t.epic_id join namespaces n on n.id = e.group_id
      where t.issue_id = i.id and ${which} and ${epicVisibleTo(actor)}`);
  return wildcard(id, inEpic(sql`true`)) ?? inEpic(sql`t.epic_id = ${id}`);
}

/** The conditions for `not[…]`: none of the named values. */
function excluded(actor: Actor | null, without: Without, project: LabelContainer | undefined): Filter[] {
  const { iids, weight, epic_id, assignee_id, milestone, milestone_id } = without;
  const some: Filter[] = [
    ...authorsOf(null, without).map((author) => sql<boolean>`i.author_id = ${author}`),
    ...assigneesOf(null, without).map(assignees.includes),
    assignee_id !== undefined && assignees.is(assignee_id),
    ...(without.labels ?? []).map((name) => labels.has(name, project)),
    iids && sql`i.iid = any(${iids}::integer[])`,
    weight !== undefined && sql`i.weight = ${weight}`,
    ofEpic(actor, epic_id),
    ofMilestone(ISSUE, milestone),
    ofMilestone(ISSUE, milestone_id),
  ];
  // A row without a value does not have the excluded one.
  return some.map((condition) => condition && sql<boolean>`(${condition}) is not true`);
}
