import { sql } from "kysely";
import type { Static } from "typebox";
import { all, type Filter, type Listing, type Source } from "#db/lists/list-page.ts";
import { type Condition, order, type Sort } from "#db/lists/order.ts";
import { containsAll, parseLocalSearch, parseSearch, type Search } from "#domains/identity/users/search.ts";
import type { TokenFilters } from "./params.ts";
import { areExpired, areRevoked, expiryDay, inState } from "./queries.ts";

type Filters = Static<typeof TokenFilters>;

/** Each is an index that is scanned forwards or backwards; tokens that were never used come first. */
const ORDERS = {
  created: order("t.created_at", "timestamptz"),
  expires: order(expiryDay, "date"),
  last_used: order("t.last_used_at", "timestamptz", { nulls: "first" }),
  name: order(sql`lower(t.name)`, "text"),
};

export function listTokens(userId: number | undefined, filters: Filters): Listing {
  const sorted = filters.sort && parseSort(filters.sort);
  const { [sorted?.by ?? "name"]: bounds = [], ...ranges } = rangesOf(filters);
  return {
    from: "personal_access_tokens as t",
    // A range of the sort column bounds the scan.
    sources: [userId === undefined ? everyToken(bounds) : tokensOfUser(userId, bounds)],
    filters: [
      filters.revoked !== undefined && areRevoked(filters.revoked),
      filters.state !== undefined && inState(filters.state),
      filters.last_used_after !== undefined && sql`t.last_used_at >= ${filters.last_used_after}`,
      filters.last_used_before !== undefined && sql`t.last_used_at <= ${filters.last_used_before}`,
      ...Object.values(ranges).flat(),
      filters.search?.trim() &&
        isNamed(userId === undefined ? parseSearch(filters.search, false) : parseLocalSearch(filters.search)),
    ],
    defaultOrder: sorted,
  };
}

// A range of `last_used_at` stays a filter: a scan of the never-used tokens would read all of them in vain.
const rangesOf = (filters: Filters): Record<string, Filter[]> => ({
  created: [
    filters.created_after !== undefined && sql`t.created_at >= ${filters.created_after}`,
    filters.created_before !== undefined && sql`t.created_at <= ${filters.created_before}`,
  ],
  expires: [
    filters.expires_after !== undefined && sql`${expiryDay} >= ${filters.expires_after} and t.expires_at is not null`,
    filters.expires_before !== undefined && sql`${expiryDay} < ${filters.expires_before}`,
    filters.state === "active" && areExpired(false),
  ],
});

const everyToken = (bounds: readonly Filter[]): Source => ({
  scan: sql`(select t.* from personal_access_tokens t where ${all([sql`not t.impersonation`, ...bounds])})`,
});
// The offset is an optimization fence: PostgreSQL might scan the tokens of all users in order.
const tokensOfUser = (userId: number, bounds: readonly Filter[]): Source => ({
  unordered: true,
  scan: sql`(select t.* from personal_access_tokens t
    where ${all([sql`t.user_id = ${userId} and not t.impersonation`, ...bounds])} offset 0)`,
});

const isNamed = ({ text, words }: Search): Condition =>
  words.length === 0 ? sql`lower(t.name) = lower(${text})` : containsAll(sql`lower(t.name)`, words);

function parseSort(sort: NonNullable<Filters["sort"]>) {
  const at = sort.lastIndexOf("_");
  const by = sort.slice(0, at) as keyof typeof ORDERS;
  return { by, order: ORDERS[by], sort: sort.slice(at + 1) as Sort };
}
