import { sql } from "kysely";
import type { Static } from "typebox";
import { live } from "#access/levels.ts";
import type { Listing, Rows, Source } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { matches, parseLocalSearch } from "#domains/identity/users/search.ts";
import type { MemberContainer } from "./access.ts";
import type { MemberFilters } from "./params.ts";
import { counts, ownProject, type Sources } from "./queries.ts";

type Filters = Pick<Static<typeof MemberFilters>, "query" | "user_ids" | "state">;

/** The members of a group or project, filtered by the caller's parameters. */
export function listMembers(container: MemberContainer, sources: Sources, filters: Filters): Listing {
  // There are no access requests, so nobody is awaiting.
  const asked = filters.state === "awaiting" ? [] : filters.user_ids;
  return {
    from: "users as u",
    sources: [asked ? membersAmong(asked, container, sources) : everyMember(container, sources)],
    filters: [filters.query?.trim() && matches(parseLocalSearch(filters.query))],
  };
}

/** The given users who are members. */
const membersAmong = (ids: readonly number[], container: MemberContainer, { groups }: Sources): Source => ({
  scan: sql`(select u.* from users u where u.id = any(${ids}::bigint[]) and exists (
    select from members m where m.user_id = u.id and (
      m.group_id = any(${groups}::bigint[]) and ${counts(container)}
      or m.project_id = ${ownProject(container)} and ${sql.raw(live("m"))})) offset 0)`,
});

/**
 * Every member once. Each group is scanned in order and only as far as the page needs, because together they may have a
 * hundred thousand members; then each user is looked up by id.
 */
const everyMember = (container: MemberContainer, { groups }: Sources): Source => ({
  scan(limitTo) {
    const users = (where: Condition): Rows => limitTo(sql`(select m.user_id as id from members m where ${where})`);
    return sql`(select u.* from (
        select each.id from unnest(${groups}::bigint[]) source (group_id)
          cross join lateral ${users(sql`m.group_id = source.group_id and ${counts(container)}`)} each
        union select each.id from ${users(sql`m.project_id = ${ownProject(container)} and ${sql.raw(live("m"))}`)} each
      ) members cross join lateral (select * from users where id = members.id offset 0) u)`;
  },
});
