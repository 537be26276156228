import { inTopLevelGroup } from "#access/containers.ts";
import type { Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { badRequest, forbidden, Refusal } from "#lib/refusal.ts";
import { removeSecondFactor } from "#domains/identity/second-factor/actions.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { adminUserRows, identitiesOf } from "#domains/identity/users/queries.ts";
import { type View, viewAt } from "#domains/identity/users/present.ts";
import { EnterpriseUser, presentEnterpriseUser } from "./entity.ts";
import { isManagedBy, enterpriseUsersOf, listEnterpriseUsers, samlUsersOf } from "./list.ts";
import { EnterpriseUserFilters, EnterpriseUserId, SamlUserFilters } from "./params.ts";

const HOSTED = { offering: ["hosted"], plan: "premium" } as const;
const UserPage = pageOf(EnterpriseUser, {
  id: "u.id",
  sort: "desc",
  keyset: ["id"],
  type: "User",
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
    async handle({ db, group, params, page, site, services }) {
      const sources = await enterpriseUsersOf(db, group.id);
      const rows = await page.rows(userIds(db), listEnterpriseUsers(sources, params));
      return viewsOf(db, rows, viewAt(site, services));
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
      const user = await managedUser(db, group.id, params.user_id).executeTakeFirst();
      const [view] = user && !user.admin ? await viewsOf(db, [user], viewAt(site, services)) : [];
      if (!view) throw notFound();
      return view;
    },
  }),

  disableTwoFactor: endpoint({
    method: "PATCH",
    path: "/groups/:id/enterprise_users/:user_id/disable_two_factor",
    summary: "Disable the second factor of an enterprise user of a group",
    access: inTopLevelGroup("owner"),
    params: EnterpriseUserId,
    audit: "user_two_factor_disabled",
    ...HOSTED,
    async handle({ tx, group, params, audit }) {
      const user = await managedUser(tx, group.id, params.user_id).forNoKeyUpdate().executeTakeFirst();
      if (!user) throw notFound();
      if (user.admin) throw forbidden("A group has no power over administrators");
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
    async handle({ db, group, params, page, site, services }) {
      const rows = await page.rows(userIds(db), listEnterpriseUsers(samlUsersOf(group.id), params));
      return viewsOf(db, rows, viewAt(site, services));
    },
  }),
};

const userIds = (db: Db) => db.selectFrom("users as u").select("u.id");

const managedUser = (db: Db, groupId: number, userId: number) =>
  db
    .selectFrom("users as u")
    .select(["u.id", "u.username", "u.admin"])
    .where("u.id", "=", userId)
    .where(isManagedBy(groupId));

const notFound = () => new Refusal("missing", "404 Not found");

/** Presents users to the Owners of their group with a constant number of statements. */
async function viewsOf(db: Db, users: readonly { readonly id: number }[], view: View) {
  const ids = users.map(({ id }) => id);
  if (ids.length === 0) return [];
  const rows = await adminUserRows(db, ids);
  const identities = Map.groupBy(await identitiesOf(db, ids), ({ user_id }) => user_id);
  return rows.map((row) => presentEnterpriseUser(row, identities.get(row.id) ?? [], view));
}
