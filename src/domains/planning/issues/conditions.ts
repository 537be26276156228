import { sql } from "kysely";
import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Filter } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import { epicVisibleTo } from "#domains/planning/items/visibility.ts";
import type { IssueFilters } from "./filter-params.ts";

export type Filters = Static<typeof IssueFilters>;
type Without = NonNullable<Filters["not"]>;

/** The conditions on rows of `issues as i` that a request asks for. */
export function conditionsOf(actor: Actor | null, filters: Filters): Filter[] {
  const { state, weight, in: places, search } = filters;
  return [
    state !== undefined && state !== "all" && sql`i.state = ${sql.lit(state)}`,
    filters.issue_type && sql`i.issue_type = ${filters.issue_type}`,
    filters.confidential !== undefined && (filters.confidential ? sql`i.confidential` : sql`not i.confidential`),
    filters.iids && sql`i.iid = any(${filters.iids}::integer[])`,
    filters.created_after && sql`i.created_at >= ${filters.created_after}`,
    filters.created_before && sql`i.created_at <= ${filters.created_before}`,
    filters.updated_after && sql`i.updated_at >= ${filters.updated_after}`,
    filters.updated_before && sql`i.updated_at <= ${filters.updated_before}`,
    filters.due_date && DUE[filters.due_date],
    weight !== undefined && (wildcard(weight, sql`i.weight is not null`) ?? sql`i.weight = ${weight}`),
    ...ofScope(actor, filters.scope),
    ...ofPeople(filters),
    ...ofLabels(filters.labels ?? []),
    ofEpic(actor, filters.epic_id),
    ofMilestone(filters.milestone ?? filters.milestone_id),
    search?.trim() && searched(search, places ?? []),
    ...(filters.not ? excluded(actor, filters.not) : []),
  ];
}

const not = (condition: Condition): Condition => sql`not (${condition})`;

/** The condition for `None` or `Any`, in any case; undefined for another value. */
function wildcard(value: string | number, isAny: Condition): Condition | undefined {
  const word = String(value).toLowerCase();
  return word === "any" ? isAny : word === "none" ? not(isAny) : undefined;
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

const isAssigned = sql<boolean>`exists (select from issue_assignees a where a.issue_id = i.id)`;
const isAssignedTo = (userId: number): Condition =>
  sql`i.id in (select a.issue_id from issue_assignees a where a.user_id = ${userId})`;

function ofScope(actor: Actor | null, scope: Filters["scope"]): Filter[] {
  if (scope === undefined || scope === "all") return [];
  if (!actor) return [sql`false`];
  return [scope.startsWith("created") ? sql`i.author_id = ${actor.user.id}` : isAssignedTo(actor.user.id)];
}

const usersNamed = (names: readonly string[]) =>
  sql`(select u.id from users u where lower(u.username) = any(${names.map((name) => name.toLowerCase())}::text[]))`;

type People = Pick<Filters, "author_id" | "author_username" | "assignee_id" | "assignee_username">;

function ofPeople({ author_id, author_username, assignee_id, assignee_username }: People): Filter[] {
  return [
    author_id !== undefined && sql`i.author_id = ${author_id}`,
    author_username !== undefined && sql`i.author_id = ${usersNamed([author_username])}`,
    assignee_id !== undefined && ofAssignee(assignee_id),
    ...(assignee_username ?? []).map(
      (name): Condition =>
        sql`i.id in (select a.issue_id from issue_assignees a where a.user_id = ${usersNamed([name])})`,
    ),
  ];
}

function ofAssignee(value: number | string): Condition {
  if (value === 0) return not(isAssigned);
  return wildcard(value, isAssigned) ?? isAssignedTo(Number(value));
}

const hasLabels = sql<boolean>`exists (
  select from label_links t join labels l on l.id = t.label_id where t.issue_id = i.id)`;
const hasLabel = (name: string): Condition => sql`i.id in (
  select t.issue_id from labels l join label_links t on t.label_id = l.id and t.issue_id is not null
  where l.name = ${name})`;

function ofLabels(names: readonly string[]): Condition[] {
  return names.map((name) => wildcard(name, hasLabels) ?? hasLabel(name));
}

/** Epics that the caller may not see are none. */
function ofEpic(actor: Actor | null, id: Filters["epic_id"]): Filter {
  if (id === undefined) return undefined;
  const inEpic = (which: Condition): Condition => sql`i.id in (
    select t.issue_id from epic_issues t join epics e on e.id = t.epic_id join namespaces n on n.id = e.group_id
    where ${which} and ${epicVisibleTo(actor)})`;
  return wildcard(id, inEpic(sql`true`)) ?? inEpic(sql`t.epic_id = ${id}`);
}

/** No issue has a milestone. */
const ofMilestone = (title: string | undefined): Filter =>
  title !== undefined && (wildcard(title, sql`false`) ?? sql`false`);

const SEARCHED = { title: sql`lower(i.title)`, description: sql`lower(left(i.description, 10000))` };

/** The search text has an index; a search in one place is compared with that place as well. */
function searched(search: string, places: readonly (keyof typeof SEARCHED)[]): Condition {
  const [place, ...others] = new Set(places);
  const found = matches(search, sql`i.search_text`);
  return place === undefined || others.length > 0 ? found : sql`(${found} and ${matchesIn(search, place)})`;
}

// A single line, so that a word too short for the index can be the whole of it.
const matchesIn = (search: string, place: keyof typeof SEARCHED): Condition =>
  matches(search, sql`(chr(10) || ${SEARCHED[place]} || chr(10))`);

/** The conditions for `not[…]`: none of the named values. */
function excluded(actor: Actor | null, without: Without): Filter[] {
  const { labels, iids, weight, epic_id, milestone = without.milestone_id } = without;
  const some: Filter[] = [
    ...ofPeople(without),
    ...ofLabels(labels ?? []),
    iids && sql`i.iid = any(${iids}::integer[])`,
    weight !== undefined && sql`i.weight = ${weight}`,
    ofEpic(actor, epic_id),
    ofMilestone(milestone),
  ];
  // A row without a value does not have the excluded one.
  return some.map((condition) => condition && sql<boolean>`(${condition}) is not true`);
}
