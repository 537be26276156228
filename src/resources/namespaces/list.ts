import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { live, reachedNamespaces } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import { groupParts, groupsOf } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { FARTHEST, hitsOf, named } from "#http/hits.ts";
import type { PageOptions } from "#http/paging.ts";
import type { NamespaceFilters } from "./params.ts";
import { matches } from "./search.ts";

type Condition = RawBuilder<boolean>;

/** Which namespaces are wanted. */
export interface Wanted {
  /** Where they are found: parts that have no row in common, each to be read as `n`. */
  readonly parts: readonly RawBuilder<unknown>[];
  readonly conditions: readonly Condition[];
  readonly search?: string | undefined;
  /** Whether few may be left of many, so that a walk in order would take long to find a page of them. */
  readonly mayBeFew: boolean;
}

/** How to page through them: parts without functions, so that they can be ranked. */
export interface Pages extends PageOptions {
  readonly parts: readonly SelectQueryBuilder<any, any, any>[];
}

/** How many hits are named. */
const MOST_HITS = 20_000;

/** How to page through what is wanted: what may be few is looked up first. */
export async function pagesOf(db: Db, { parts, conditions, search, mayBeFew }: Wanted): Promise<Pages> {
  const narrowed = (part: RawBuilder<unknown>, searchText: RawBuilder<unknown>) => {
    const all = [...conditions, ...(search === undefined ? [] : [matches(search, searchText)])];
    return all.reduce((query, condition) => query.where(condition), db.selectFrom(part.as("n")));
  };
  const quick = parts.map((part) => narrowed(part, sql`n.search_text`));
  if (!mayBeFew) return { parts: quick };
  const { ids, many } = await hitsOf(
    db,
    quick.map((query) => query.select(sql.ref("n.id").as("id"))),
    MOST_HITS,
  );
  const few = db.selectFrom(named("namespaces", ids).as("n"));
  if (many.length === 0) return { parts: [few], total: ids.length };
  // As an expression of its own the column has no index, which leaves the walk.
  const walked = parts.filter((_, at) => many.includes(at)).map((part) => narrowed(part, sql`(n.search_text || '')`));
  return { parts: [few, ...walked], total: Infinity, offsetLimit: FARTHEST };
}

/** The groups that a user belongs to at any level, to be read as `n`. */
export const groupsOfMember = (userId: number): RawBuilder<unknown> =>
  groupsOf(sql`
    select id from (${reachedNamespaces(userId)}) reached
    union select m.group_id from members m
    where m.user_id = ${userId} and m.group_id is not null and ${sql.raw(live("m"))}`);

const ownPlace = (userId: number): RawBuilder<unknown> => sql`(
  select n.* from users u join namespaces n on n.id = u.namespace_id where u.id = ${userId})`;

const everyGroup = sql`(select n.id, n.parent_id, n.search_text from namespaces n where n.kind = 'group')`;
// What users are searched by has its index with them.
const everyUser = sql`(
  select n.id, n.parent_id, u.search_text from users u join namespaces n on n.id = u.namespace_id)`;

/** The namespaces that a caller asked for: their own place and their groups, and all for administrators. */
export function wantedNamespaces(actor: Actor, filters: Static<typeof NamespaceFilters>): Wanted {
  const { id } = actor.user;
  const search = filters.search?.trim() || undefined;
  const conditions = filters.top_level_only ? [sql<boolean>`n.parent_id is null`] : [];
  if (filters.owned_only) {
    return { parts: [ownPlace(id), ...groupParts(id, LEVELS.owner)], conditions, search, mayBeFew: false };
  }
  if (!isAdministrator(actor)) {
    return { parts: [ownPlace(id), groupsOfMember(id)], conditions, search, mayBeFew: false };
  }
  return { parts: [everyUser, everyGroup], conditions, search, mayBeFew: search !== undefined };
}
