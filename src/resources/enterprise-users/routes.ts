import { inTopLevelGroup } from "#access/containers.ts";
import type { Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { badRequest, forbidden, Refusal } from "#lib/refusal.ts";
import { removeSecondFactor } from "#resources/second-factor/actions.ts";
import { targetOf } from "#resources/users/named.ts";
import { identitiesOf, wholeUsers } from "#resources/users/queries.ts";
import type { View } from "#resources/users/present.ts";
import { EnterpriseUser, presentEnterpriseUser } from "./entity.ts";
import { pagesOf } from "./list.ts";
import { EnterpriseUserFilters, EnterpriseUserId, SamlUserFilters } from "./params.ts";
import { answersFor, enterpriseUsersOf, samlUsersOf } from "./people.ts";

const HOSTED = { offering: ["hosted"], plan: "premium" } as const;
const UserPage = pageOf(EnterpriseUser, {
  id: "u.id",
  sort: "desc",
  keyset: ["id"],
  offsetLimit: { rows: 50_000, type: "User" },
});

export const enterpriseUsers = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/enterprise_users",
    summary: "List the enterprise users of a group",
    access: inTopLevelGroup("owner"),
    params: EnterpriseUserFilters,
    returns: UserPage,
    ...HOSTED,
    async handle({ databases, group, params, page, site, services }) {
      const people = await enterpriseUsersOf(databases.readAnew, group.id);
      const { query, options } = await pagesOf(databases.readAnew, people, params);
      const rows = await page.rows(query, options);
      return viewsOf(databases.read, rows, { site, now: services.now() });
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/enterprise_users/:user_id",
    summary: "Get an enterprise user of a group",
    access: inTopLevelGroup("owner"),
    params: EnterpriseUserId,
    returns: EnterpriseUser,
    ...HOSTED,
    async handle({ db, group, params, site, services }) {
      const user = await answeredFor(db, group.id, params.user_id).executeTakeFirst();
      const [view] = user && !user.admin ? await viewsOf(db, [user], { site, now: services.now() }) : [];
      if (!view) throw notFound();
      return view;
    },
  }),

  disableTwoFactor: endpoint({
    method: "PATCH",
    path: "/groups/:id/enterprise_users/:user_id/disable_two_factor",
    summary: "Take the second factor from an enterprise user of a group",
    access: inTopLevelGroup("owner"),
    params: EnterpriseUserId,
    audit: "user_two_factor_disabled",
    ...HOSTED,
    async handle({ tx, group, params, audit }) {
      const user = await answeredFor(tx, group.id, params.user_id).forNoKeyUpdate().executeTakeFirst();
      if (!user) throw notFound();
      // No group has power over those who run the instance.
      if (user.admin) throw forbidden();
      const removed = await removeSecondFactor(tx, user.id);
      if (!removed) throw badRequest("Two-factor authentication is not enabled for this user");
      audit({ ...targetOf(user), entity: { type: "Group", id: group.id } });
    },
  }),

  listOfSaml: endpoint({
    method: "GET",
    path: "/groups/:id/saml_users",
    summary: "List the users who sign in to a group through its identity provider",
    access: inTopLevelGroup("owner"),
    params: SamlUserFilters,
    returns: UserPage,
    plan: "premium",
    async handle({ databases, group, params, page, site, services }) {
      const people = samlUsersOf(databases.readAnew, group.id);
      const { query, options } = await pagesOf(databases.readAnew, people, params);
      return viewsOf(databases.read, await page.rows(query, options), { site, now: services.now() });
    },
  }),
};

const answeredFor = (db: Db, groupId: number, userId: number) =>
  db
    .selectFrom("users as u")
    .select(["u.id", "u.username", "u.admin"])
    .where("u.id", "=", userId)
    .where(answersFor(groupId));

const notFound = () => new Refusal("missing", "404 Not found");

/** Users as the Owners of their group see them; a fixed number of statements whatever their number. */
async function viewsOf(db: Db, users: readonly { readonly id: number }[], view: View) {
  const ids = users.map(({ id }) => id);
  if (ids.length === 0) return [];
  const rows = await wholeUsers(db, ids);
  const identities = Map.groupBy(await identitiesOf(db, ids), ({ user_id }) => user_id);
  return rows.map((row) => presentEnterpriseUser(row, identities.get(row.id) ?? [], view));
}
