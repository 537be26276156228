import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Filter, Listing, Rows } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import {
  isWildcard,
  NOBODY,
  not,
  peopleFilters,
  searched,
  userNamed,
  userOf,
} from "#domains/planning/items/filters.ts";
import { labelFilters } from "#domains/planning/labels/filters.ts";
import type { LabelContainer } from "#domains/planning/items/containers.ts";
import { inMilestone, ofMilestone } from "#domains/planning/milestones/of-items.ts";
import { DRAFT_PATTERN } from "./draft.ts";
import type { MergeRequestFilters as Filters } from "./filter-params.ts";
import { MERGE_REQUEST } from "./kind.ts";

const assignees = peopleFilters(MERGE_REQUEST, "merge_request_assignees");
const reviewers = peopleFilters(MERGE_REQUEST, "merge_request_reviewers");
const labels = labelFilters(MERGE_REQUEST);

/** The conditions on rows of `merge_requests as mr` that a request asks for. */
export function conditionsOf(
  actor: Actor | null,
  filters: Filters,
  project?: LabelContainer,
): Required<Pick<Listing, "filters" | "costly">> {
  const { state, search, assignee_id, reviewer_id } = filters;
  const isDraft = filters.draft ?? (filters.wip === undefined ? undefined : filters.wip === "yes");
  return {
    filters: [
      state !== undefined && state !== "all" && sql`mr.state = ${sql.lit(state)}`,
      filters.iids && sql`mr.iid = any(${filters.iids}::integer[])`,
      filters.source_branch !== undefined && sql`mr.source_branch = ${filters.source_branch}`,
      filters.target_branch !== undefined && sql`mr.target_branch = ${filters.target_branch}`,
      isDraft !== undefined && (isDraft ? IS_DRAFT : not(IS_DRAFT)),
      ...ofTimes(filters),
      ...authorsOf(actor, filters).map((author) => sql<boolean>`mr.author_id = ${author}`),
    ],
    costly: [
      ...assigneesOf(actor, filters).map(assignees.includes),
      ...reviewersOf(actor, filters).map(reviewers.includes),
      assignee_id !== undefined && assignees.is(assignee_id),
      reviewer_id !== undefined && reviewers.is(reviewer_id),
      ...(filters.labels ?? []).map((name) => labels.has(name, project)),
      ofMilestone(MERGE_REQUEST, filters.milestone),
      search?.trim() && searched(MERGE_REQUEST, search, filters.in ?? []),
      ...(filters.not ? excluded(filters.not, project) : []),
    ],
  };
}

/** The ids of the merge requests that meet one of the filters; labels and milestones are those of a project, or any. */
export function findersOf(
  actor: Actor | null,
  filters: Filters,
  project?: LabelContainer,
): NonNullable<Listing["finders"]> {
  const { labels: names = [], assignee_id, reviewer_id } = filters;
  const search = filters.search?.trim() || undefined;
  const person = (value: number | string | undefined) =>
    typeof value === "number" && value > 0 ? [userOf(value)] : [];
  return [
    search !== undefined && sql`(select mr.id from merge_requests mr where ${searched(MERGE_REQUEST, search, [])})`,
    ...names.filter((name) => !isWildcard(name)).map((name) => labels.idsOf(name, project)),
    ...[...assigneesOf(actor, filters), ...person(assignee_id)].map(assignees.idsOf),
    ...[...reviewersOf(actor, filters), ...person(reviewer_id)].map(reviewers.idsOf),
    ...authorsOf(actor, filters).map(
      (author) => sql`(select mr.id from merge_requests mr where mr.author_id = ${author})`,
    ),
    inMilestone(MERGE_REQUEST, filters.milestone, project),
  ];
}

const IS_DRAFT: Condition = sql`mr.title ~* ${sql.lit(DRAFT_PATTERN)}`;

function ofTimes({ created_after, created_before, updated_after, updated_before }: Filters): Filter[] {
  const created = "mr.created_at";
  const updated = "mr.updated_at";
  return [
    created_after && { column: created, where: sql`mr.created_at >= ${created_after}` },
    created_before && { column: created, where: sql`mr.created_at <= ${created_before}` },
    updated_after && { column: updated, where: sql`mr.updated_at >= ${updated_after}` },
    updated_before && { column: updated, where: sql`mr.updated_at <= ${updated_before}` },
  ];
}

const isOwn = ({ scope }: Pick<Filters, "scope">, word: string) => scope?.startsWith(word) === true;
const self = (actor: Actor | null): Rows => (actor ? userOf(actor.user.id) : NOBODY);

/** The ids of the people, each of whom must be the author. */
const authorsOf = (actor: Actor | null, asked: Pick<Filters, "scope" | "author_id" | "author_username">): Rows[] => [
  ...(isOwn(asked, "created") ? [self(actor)] : []),
  ...(asked.author_id === undefined ? [] : [userOf(asked.author_id)]),
  ...(asked.author_username === undefined ? [] : [userNamed(asked.author_username)]),
];

/** The ids of the people, all of whom must be assigned. */
const assigneesOf = (actor: Actor | null, asked: Pick<Filters, "scope" | "assignee_username">): Rows[] => [
  ...(isOwn(asked, "assigned") ? [self(actor)] : []),
  ...(asked.assignee_username === undefined ? [] : [userNamed(asked.assignee_username)]),
];

/** The ids of the people, all of whom must be reviewers. */
const reviewersOf = (actor: Actor | null, asked: Pick<Filters, "scope" | "reviewer_username">): Rows[] => [
  ...(isOwn(asked, "reviews") ? [self(actor)] : []),
  ...(asked.reviewer_username === undefined ? [] : [userNamed(asked.reviewer_username)]),
];

/** The conditions for `not[…]`: none of the named values. */
function excluded(without: NonNullable<Filters["not"]>, project: LabelContainer | undefined): Filter[] {
  const { assignee_id, reviewer_id } = without;
  const some: Filter[] = [
    ...authorsOf(null, without).map((author) => sql<boolean>`mr.author_id = ${author}`),
    ...assigneesOf(null, without).map(assignees.includes),
    ...reviewersOf(null, without).map(reviewers.includes),
    assignee_id !== undefined && assignees.is(assignee_id),
    reviewer_id !== undefined && reviewers.is(reviewer_id),
    ...(without.labels ?? []).map((name) => labels.has(name, project)),
    ofMilestone(MERGE_REQUEST, without.milestone),
  ];
  // A row without a value does not have the excluded one.
  return some.map((condition) => condition && sql<boolean>`(${condition}) is not true`);
}
