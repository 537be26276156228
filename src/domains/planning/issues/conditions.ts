import { sql } from "kysely";
import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Filter, Listing, Rows } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import { isAvailableIn, type LabelContainer } from "#domains/planning/items/labels.ts";
import { epicVisibleTo } from "#domains/planning/items/visibility.ts";
import type { IssueFilters } from "./filter-params.ts";
import { inMilestone, ofMilestone } from "./milestones.ts";

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
      ...assigneesOf(actor, filters).map(isAssignedTo),
      filters.assignee_id !== undefined && ofAssignee(filters.assignee_id),
      ...(filters.labels ?? []).map((name) => wildcard(name, hasLabels) ?? hasLabel(name, project)),
      ofEpic(actor, filters.epic_id),
      ofMilestone(filters.milestone),
      ofMilestone(filters.milestone_id),
      search?.trim() && searched(search, filters.in ?? []),
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
  const { labels = [], epic_id, assignee_id } = filters;
  const search = filters.search?.trim() || undefined;
  const isPerson = typeof assignee_id === "number" && assignee_id > 0;
  const people = [...assigneesOf(actor, filters), ...(isPerson ? [userOf(assignee_id)] : [])];
  return [
    search !== undefined && sql`(select i.id from issues i where ${matches(search, sql`i.search_text`)})`,
    ...labels.filter((name) => !isWildcard(name)).map((name) => labelled(name, project)),
    ...people.map((person) => sql`(select a.issue_id as id from issue_assignees a where a.user_id = ${person})`),
    ...authorsOf(actor, filters).map((author) => sql`(select i.id from issues i where i.author_id = ${author})`),
    typeof epic_id === "number" && sql`(select t.issue_id as id from epic_issues t where t.epic_id = ${epic_id})`,
    inMilestone(filters.milestone, project),
    inMilestone(filters.milestone_id, project),
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

const not = (condition: Condition): Condition => sql`not (${condition})`;

const isWildcard = (value: string | number) => /^(?:any|none)$/i.test(String(value));

/** The condition for `None` or `Any`, in any case; undefined for another value. */
function wildcard(value: string | number, isAny: Condition): Condition | undefined {
  if (!isWildcard(value)) return undefined;
  return String(value).toLowerCase() === "any" ? isAny : not(isAny);
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

/** A lookup for one row. Without the offset PostgreSQL may join it, and read all rows that any issue has. */
const found = (rows: Rows): Condition => sql`exists (${rows} offset 0)`;

const isAssigned = found(sql`select from issue_assignees a where a.issue_id = i.id`);
const isAssignedTo = (person: Rows): Condition =>
  found(sql`select from issue_assignees a where a.issue_id = i.id and a.user_id = ${person}`);

const userNamed = (name: string): Rows =>
  sql`(select u.id from users u where lower(u.username) = ${name.toLowerCase()})`;
const userOf = (id: number): Rows => sql`${id}::bigint`;
/** The id of nobody. */
const NOBODY = userOf(0);

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

function ofAssignee(value: number | string): Condition {
  if (value === 0) return not(isAssigned);
  return wildcard(value, isAssigned) ?? isAssignedTo(userOf(Number(value)));
}

/** Whether the row of `issues as i` has a label that meets a condition. The label of a link may have been deleted. */
const hasLabelThat = (is: Condition): Condition =>
  found(sql`select from label_links t where t.issue_id = i.id
    and ${found(sql`select from labels l where l.id = t.label_id and ${is}`)}`);
const hasLabels = hasLabelThat(sql`true`);
const hasLabel = (name: string, project: LabelContainer | undefined): Condition => hasLabelThat(isNamed(name, project));

const labelled = (name: string, project: LabelContainer | undefined): Rows => sql`(
  select t.issue_id as id from labels l join label_links t on t.label_id = l.id and t.issue_id is not null
  where ${isNamed(name, project)})`;

/** In the list of a project a name means a label that it may use, not one of a group that it has left. */
const isNamed = (name: string, project: LabelContainer | undefined): Condition =>
  project ? sql`l.name = ${name} and ${isAvailableIn(project)}` : sql`l.name = ${name}`;

/** Epics that the caller may not see are none. */
function ofEpic(actor: Actor | null, id: Filters["epic_id"]): Filter {
  if (id === undefined) return undefined;
  const inEpic = (which: Condition): Condition =>
    found(sql`select from epic_issues t join epics e on e.id = t.epic_id join namespaces n on n.id = e.group_id
      where t.issue_id = i.id and ${which} and ${epicVisibleTo(actor)}`);
  return wildcard(id, inEpic(sql`true`)) ?? inEpic(sql`t.epic_id = ${id}`);
}

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
function excluded(actor: Actor | null, without: Without, project: LabelContainer | undefined): Filter[] {
  const { labels, iids, weight, epic_id, assignee_id, milestone, milestone_id } = without;
  const some: Filter[] = [
    ...authorsOf(null, without).map((author) => sql<boolean>`i.author_id = ${author}`),
    ...assigneesOf(null, without).map(isAssignedTo),
    assignee_id !== undefined && ofAssignee(assignee_id),
    ...(labels ?? []).map((name) => wildcard(name, hasLabels) ?? hasLabel(name, project)),
    iids && sql`i.iid = any(${iids}::integer[])`,
    weight !== undefined && sql`i.weight = ${weight}`,
    ofEpic(actor, epic_id),
    ofMilestone(milestone),
    ofMilestone(milestone_id),
  ];
  // A row without a value does not have the excluded one.
  return some.map((condition) => condition && sql<boolean>`(${condition}) is not true`);
}
