import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";
import { provenDomainsOf } from "#resources/verified-domains/queries.ts";

export type Condition = RawBuilder<boolean>;

/** Some of all users, of them those who meet conditions on `users as u`, in parts that have no one in common. */
export type People = (conditions: readonly Condition[]) => SelectQueryBuilder<any, any, { id: number }>[];

/** The columns that a search looks into, beside the id. */
const COLUMNS = ["u.id", "u.name", "u.username", "u.search_text", "u.email"] as const;

/** The group that verified the domain of the confirmed address of the user `u`; there is one at most. */
const claimant = sql`(select d.group_id from verified_domains d
  where d.domain = u.email_domain and d.verified_at is not null and u.confirmed_at is not null)`;

/** Whether a group answers for the person `u`: it has their domain, or made the account while nobody has the domain. */
export const answersFor = (groupId: number): Condition => sql`
  u.user_type = 'human' and u.removal_began_at is null
  and coalesce(${claimant}, u.provisioned_by_group_id) = ${groupId}`;

/** The enterprise users of a group: whom it answers for, but for administrators. */
export async function enterpriseUsersOf(db: Db, groupId: number): Promise<People> {
  const domains = await provenDomainsOf(db, groupId).execute();
  // The same in parts that are in order by themselves; what each begins with is what its index says.
  const parts = [
    ...domains.map(
      ({ domain }) => sql<boolean>`u.user_type = 'human' and not u.admin and u.confirmed_at is not null
        and u.removal_began_at is null and u.email_domain = ${domain}`,
    ),
    sql<boolean>`u.provisioned_by_group_id = ${groupId} and not u.admin and ${claimant} is null
      and ${answersFor(groupId)}`,
  ];
  return (conditions) =>
    parts.map((part) => narrowed(db.selectFrom("users as u").select(COLUMNS), [part, ...conditions]));
}

/** Who signs in to a group through its identity provider. */
export const samlUsersOf =
  (db: Db, groupId: number): People =>
  (conditions) => {
    const linked = db
      .selectFrom("identities as i")
      .innerJoin("users as u", "u.id", "i.user_id")
      .select(COLUMNS)
      .where("i.provider", "=", sql.lit("group_saml"))
      .where("i.saml_provider_id", "=", groupId)
      .where("u.removal_began_at", "is", null);
    return [narrowed(linked, conditions)];
  };

const narrowed = <Query extends { where(condition: Condition): Query }>(
  query: Query,
  conditions: readonly Condition[],
): Query => conditions.reduce((narrower, condition) => narrower.where(condition), query);
