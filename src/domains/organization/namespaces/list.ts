import { sql } from "kysely";
import type { Static } from "typebox";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { live, reachedNamespaces } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import { groupsOf, memberGroups, visibleGroups } from "#access/visible.ts";
import type { Listing, Source } from "#db/lists/list-page.ts";
import type { NamespaceFilters } from "./params.ts";
import { matches } from "./search.ts";

/** The groups that a user belongs to at any level. */
export const groupsOfMember = (userId: number): Source => ({
  unordered: true,
  scan: groupsOf(sql`
    select id from (${reachedNamespaces(userId)}) reached
    union select m.group_id from members m
    where m.user_id = ${userId} and m.group_id is not null and ${sql.raw(live("m"))}`),
});

const personalNamespace = (userId: number): Source => ({
  scan: sql`(select n.* from users u join namespaces n on n.id = u.namespace_id where u.id = ${userId})`,
});

// The trigram index for searching users is on the users table.
const everyPersonalNamespace: Source = {
  scan: sql`(select n.id, n.parent_id, u.search_text from users u join namespaces n on n.id = u.namespace_id)`,
};

function sourcesOf(actor: Actor, ownedOnly: boolean | undefined): Source[] {
  const { id } = actor.user;
  if (ownedOnly) return [personalNamespace(id), ...memberGroups(id, LEVELS.owner)];
  return isAdministrator(actor)
    ? [everyPersonalNamespace, ...visibleGroups(actor)]
    : [personalNamespace(id), groupsOfMember(id)];
}

/** The caller's personal namespace and their groups; all namespaces for administrators. */
export const listNamespaces = (actor: Actor, filters: Static<typeof NamespaceFilters>): Listing => ({
  from: "namespaces as n",
  sources: sourcesOf(actor, filters.owned_only),
  filters: [
    filters.top_level_only && sql`n.parent_id is null`,
    filters.search?.trim() && matches(filters.search, sql`n.search_text`),
  ],
});
