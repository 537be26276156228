import { sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import type { Listing, Source } from "#db/lists/list-page.ts";
import type { Condition } from "#db/lists/order.ts";
import { containsAll, parseLocalSearch } from "#domains/identity/users/search.ts";
import { verifiedDomainsOf } from "#domains/organization/verified-domains/queries.ts";
import type { EnterpriseUserFilters } from "./params.ts";

type Filters = Omit<Static<typeof EnterpriseUserFilters>, "id">;

/** The group that verified the domain of user `u`'s confirmed address; at most one group has a domain. */
const claimant = sql`(select d.group_id from verified_domains d
  where d.domain = u.email_domain and d.verified_at is not null and u.confirmed_at is not null)`;

/** Whether a group manages the person `u`: it verified their domain, or provisioned them and nobody verified it. */
export const isManagedBy = (groupId: number): Condition => sql`
  u.user_type = 'human' and u.removal_began_at is null
  and coalesce(${claimant}, u.provisioned_by_group_id) = ${groupId}`;

/** The enterprise users of a group: everyone it manages except administrators. */
export async function enterpriseUsersOf(db: Db, groupId: number): Promise<Source[]> {
  const domains = await verifiedDomainsOf(db, groupId).execute();
  return [
    ...domains.map(({ domain }) => ({
      scan: sql`(select u.* from users u where u.user_type = 'human' and not u.admin and u.confirmed_at is not null
        and u.removal_began_at is null and u.email_domain = ${domain})`,
    })),
    {
      scan: sql`(select u.* from users u where u.provisioned_by_group_id = ${groupId} and not u.admin
        and ${claimant} is null and ${isManagedBy(groupId)})`,
    },
  ];
}

/** The users who sign in to a group through its identity provider. */
export const samlUsersOf = (groupId: number): Source[] => [
  {
    scan: sql`(select u.* from identities i join users u on u.id = i.user_id
      where i.provider = 'group_saml' and i.saml_provider_id = ${groupId} and u.removal_began_at is null)`,
  },
];

/** Filters users by the caller's parameters; literals let the planner choose a partial index. */
export const listEnterpriseUsers = (sources: readonly Source[], filters: Filters): Listing => ({
  from: "users as u",
  sources,
  filters: [
    filters.username !== undefined && sql`lower(u.username) = lower(${filters.username})`,
    filters.active && sql`u.state = 'active'`,
    filters.blocked && sql`u.state in ('blocked', 'ldap_blocked')`,
    filters.two_factor === "enabled" && sql`u.two_factor_enabled`,
    filters.two_factor === "disabled" && sql`not u.two_factor_enabled`,
    filters.created_after !== undefined && sql`u.created_at >= ${filters.created_after}`,
    filters.created_before !== undefined && sql`u.created_at <= ${filters.created_before}`,
    filters.search?.trim() && matches(filters.search),
  ],
});

/** Matches every word in a name or username, or the text in an address, which Owners may see. */
function matches(search: string): Condition {
  const { text, words } = parseLocalSearch(search);
  const inEmail = containsAll(sql`lower(u.email)`, [text]);
  return words.length === 0 ? inEmail : sql`(${containsAll(sql`u.search_text`, words)} or ${inEmail})`;
}
