import { sql } from "kysely";
import type { Static } from "typebox";
import type { Filter, Listing, Rows } from "#db/lists/list-page.ts";
import { type Condition, order } from "#db/lists/order.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import { found, userNamed } from "#domains/planning/items/filters.ts";
import type { AlertFilters } from "./params.ts";
import { numberOfSeverity, numberOfStatus } from "./words.ts";

type Filters = Static<typeof AlertFilters>;

const started = order("a.started_at", "timestamptz");
const unindexed = { scannedBy: started } as const;

export const PAGING = {
  id: "a.id",
  orders: {
    started_at: started,
    // Alerts are numbered as they are created, and an index has the numbers.
    created_at: order("a.iid", "integer"),
    // The most critical have the lowest number, and come first in descending order.
    severity: order(sql`-a.severity`, "integer", unindexed),
    status: order(sql`-a.status`, "integer", unindexed),
    updated_at: order("a.updated_at", "timestamptz", unindexed),
    event_count: order("a.event_count", "integer", unindexed),
  },
  keyset: ["started_at", "created_at"],
  sort: "desc",
  type: "Alert",
} as const;

/** The alerts of a project. The index of their order has the columns of all filters that are not costly. */
export function listOfProject(projectId: number, filters: Filters): Listing {
  const isListed = sql<boolean>`a.project_id = ${projectId}`;
  const { status = [], severity = [], started_after, started_before } = filters;
  const costly = costlyFilters(projectId, filters);
  return {
    from: "alerts as a",
    sources: [{ scan: sql`(select a.* from alerts a where ${isListed})` }],
    filters: [
      isOneOf(sql`a.status`, status.map(numberOfStatus)),
      isOneOf(sql`a.severity`, severity.map(numberOfSeverity)),
      started_after && { column: "a.started_at", where: sql`a.started_at >= ${started_after}` },
      started_before && { column: "a.started_at", where: sql`a.started_at <= ${started_before}` },
    ],
    costly: costly.map(({ where }) => where),
    finders: costly.map(({ ids }) => ids),
    isListed,
  };
}

const isOneOf = (column: Rows, numbers: readonly number[]): Filter =>
  numbers.length > 0 && sql`${column} = any(${numbers}::smallint[])`;

/** A condition with the ids of all rows that meet it, which an index finds if they are few. */
interface CostlyFilter {
  readonly where: Condition;
  readonly ids: Rows;
}

function costlyFilters(projectId: number, filters: Filters): CostlyFilter[] {
  const { search, assignee_username, environment, integration_id } = filters;
  return [
    ...(search?.trim() ? [byIndex(matches(search, sql`a.search_text`))] : []),
    ...(assignee_username === undefined ? [] : [assignedTo(userNamed(assignee_username))]),
    ...(environment === undefined
      ? []
      : [byIndex(sql`(a.project_id = ${projectId} and a.environment_name = ${environment})`)]),
    ...(integration_id === undefined ? [] : [byIndex(sql`a.integration_id = ${integration_id}`)]),
  ];
}

const byIndex = (where: Condition): CostlyFilter => ({ where, ids: sql`(select a.id from alerts a where ${where})` });

const assignedTo = (user: Rows): CostlyFilter => ({
  where: found(sql`select from alert_assignees t where t.alert_id = a.id and t.user_id = ${user}`),
  ids: sql`(select t.alert_id as id from alert_assignees t where t.user_id = ${user})`,
});
