import Type from "typebox";
import { administrator } from "#access/access.ts";
import type { Tx } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Flag, Id } from "#http/params/vocabulary.ts";
import { Refusal } from "#lib/refusal.ts";
import { presentAccount, ServiceAccount } from "#domains/identity/service-accounts/entity.ts";
import { AccountFields } from "#domains/identity/service-accounts/params.ts";
import { accountPaging, accountsOf, namedAccount } from "#domains/identity/service-accounts/queries.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { beginRemoval } from "#domains/identity/users/user-deletion.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { lockedAccount, managers } from "./access.ts";
import { createGroupAccount, updateAnyAccount } from "./actions.ts";
import { AccountId } from "./params.ts";

/** Accounts for programs; they belong to a top-level group and are deleted with it. */
export const groupServiceAccounts = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/service_accounts",
    summary: "List the service accounts of a group",
    access: managers,
    params: GroupId,
    returns: pageOf(ServiceAccount, accountPaging),
    handle: ({ db, group, page }) => page(accountsOf(db, group.id), presentAccount),
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/service_accounts",
    summary: "Create a service account of a group",
    access: managers,
    params: Type.Object({ ...GroupId.properties, ...AccountFields }),
    returns: ServiceAccount,
    audit: "service_account_created",
    async handle({ group, params, audit, ...writing }) {
      const account = await createGroupAccount(writing, params, group.id);
      audit({ ...targetOf(account), entity: { type: "Group", id: group.id } });
      return presentAccount(account);
    },
  }),

  update: endpoint({
    method: "PATCH",
    path: "/groups/:id/service_accounts/:user_id",
    summary: "Change a service account of a group",
    access: managers,
    params: Type.Object({ ...AccountId.properties, ...AccountFields }),
    returns: ServiceAccount,
    audit: "service_account_updated",
    async handle({ group, params, audit, ...writing }) {
      const account = await lockedAccount(writing.tx, writing.actor, group, params.user_id);
      const { changed, row } = await updateAnyAccount(writing, account, params);
      audit({ ...targetOf(row), details: { changed }, entity: { type: "Group", id: group.id } });
      return presentAccount(row);
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/groups/:id/service_accounts/:user_id",
    summary: "Delete a service account of a group",
    access: managers,
    params: Type.Object({ ...AccountId.properties, hard_delete: Flag }),
    audit: "service_account_removed",
    conditional: true,
    async handle({ tx, actor, group, params, services, audit, unlessModified }) {
      const account = await lockedAccount(tx, actor, group, params.user_id);
      unlessModified(account.updated_at);
      const hardDelete = params.hard_delete === true;
      await beginRemoval(tx, services.jobs, account.id, { hardDelete, actorId: actor.user.id });
      audit({ ...targetOf(account), details: { hard_delete: hardDelete }, entity: { type: "Group", id: group.id } });
    },
  }),
};

/** Lives in this domain because a group's account may use an address in a domain that the group verified. */
export const anyServiceAccount = {
  update: endpoint({
    method: "PATCH",
    path: "/service_accounts/:id",
    summary: "Change a service account",
    access: administrator(),
    ...{ plan: "premium", offering: ["self-managed", "dedicated"] },
    params: Type.Object({ id: Id, ...AccountFields }),
    returns: ServiceAccount,
    audit: "service_account_updated",
    async handle({ params, audit, ...writing }) {
      const { changed, row } = await updateAnyAccount(writing, await anyAccount(writing.tx, params.id), params);
      audit({ ...targetOf(row), details: { changed } });
      return presentAccount(row);
    },
  }),
};

async function anyAccount(tx: Tx, id: number) {
  const account = await namedAccount(tx, id).forNoKeyUpdate().executeTakeFirst();
  if (!account) throw new Refusal("missing", "404 Not found");
  if (account.user_type !== "service_account") throw new Refusal("invalid", "User is not a service account");
  return account;
}
