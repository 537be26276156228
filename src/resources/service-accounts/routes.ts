import Type from "typebox";
import { administrator } from "#access/access.ts";
import type { Tx } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf, type PagingOptions } from "#http/paging.ts";
import { Flag, Id } from "#http/params/vocabulary.ts";
import { Refusal } from "#lib/refusal.ts";
import { GroupId } from "#resources/groups/params.ts";
import { targetOf } from "#resources/users/named.ts";
import { beginRemoval } from "#resources/users/removal.ts";
import { heldAccount, managers } from "./access.ts";
import { createAccount, updateAccount } from "./actions.ts";
import { presentAccount, presentSummary, ServiceAccount, ServiceAccountSummary } from "./entity.ts";
import { AccountFields, AccountId } from "./params.ts";
import { accountsOf, namedAccount } from "./queries.ts";

const paging: PagingOptions = {
  id: "u.id",
  orders: { id: "u.id", username: "u.username" },
  keyset: ["id", "username"],
  sort: "desc",
  offsetLimit: { rows: 50_000, type: "User" },
};

const plan = "premium";
const notHosted = { plan, offering: ["self-managed", "dedicated"] } as const;

/** Accounts for programs, of the whole instance. */
export const serviceAccounts = {
  list: endpoint({
    method: "GET",
    path: "/service_accounts",
    summary: "List service accounts of the instance and of all groups",
    access: administrator(),
    ...notHosted,
    params: Type.Object({}),
    returns: pageOf(ServiceAccountSummary, paging),
    handle: ({ db, page }) => page(accountsOf(db), presentSummary),
  }),

  create: endpoint({
    method: "POST",
    path: "/service_accounts",
    summary: "Create a service account of the instance",
    access: administrator(),
    ...notHosted,
    params: Type.Object(AccountFields),
    returns: ServiceAccount,
    audit: "service_account_created",
    async handle({ params, audit, ...writing }) {
      const account = await createAccount(writing, params, null);
      audit(targetOf(account));
      return presentAccount(account);
    },
  }),

  update: endpoint({
    method: "PATCH",
    path: "/service_accounts/:id",
    summary: "Change a service account",
    access: administrator(),
    ...notHosted,
    params: Type.Object({ id: Id, ...AccountFields }),
    returns: ServiceAccount,
    audit: "service_account_updated",
    async handle({ params, audit, ...writing }) {
      const { changed, row } = await updateAccount(writing, await anyAccount(writing.tx, params.id), params);
      audit({ ...targetOf(row), details: { changed } });
      return presentAccount(row);
    },
  }),
};

/** Accounts for programs that belong to a top-level group and go with it. */
export const groupServiceAccounts = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/service_accounts",
    summary: "List the service accounts of a group",
    access: managers,
    plan,
    params: GroupId,
    returns: pageOf(ServiceAccount, paging),
    handle: ({ db, group, page }) => page(accountsOf(db, group.id), presentAccount),
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/service_accounts",
    summary: "Create a service account of a group",
    access: managers,
    plan,
    params: Type.Object({ ...GroupId.properties, ...AccountFields }),
    returns: ServiceAccount,
    audit: "service_account_created",
    async handle({ group, params, audit, ...writing }) {
      const account = await createAccount(writing, params, group.id);
      audit({ ...targetOf(account), entity: { type: "Group", id: group.id } });
      return presentAccount(account);
    },
  }),

  update: endpoint({
    method: "PATCH",
    path: "/groups/:id/service_accounts/:user_id",
    summary: "Change a service account of a group",
    access: managers,
    plan,
    params: Type.Object({ ...AccountId.properties, ...AccountFields }),
    returns: ServiceAccount,
    audit: "service_account_updated",
    async handle({ group, params, audit, ...writing }) {
      const account = await heldAccount(writing.tx, writing.actor, group, params.user_id);
      const { changed, row } = await updateAccount(writing, account, params);
      audit({ ...targetOf(row), details: { changed }, entity: { type: "Group", id: group.id } });
      return presentAccount(row);
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/groups/:id/service_accounts/:user_id",
    summary: "Delete a service account of a group",
    access: managers,
    plan,
    params: Type.Object({ ...AccountId.properties, hard_delete: Flag }),
    audit: "service_account_removed",
    async handle({ tx, actor, group, params, services, audit }) {
      const account = await heldAccount(tx, actor, group, params.user_id);
      const hardDelete = params.hard_delete === true;
      await beginRemoval(tx, services.jobs, account.id, { hardDelete, actorId: actor.user.id });
      audit({ ...targetOf(account), details: { hard_delete: hardDelete }, entity: { type: "Group", id: group.id } });
    },
  }),
};

async function anyAccount(tx: Tx, id: number) {
  const account = await namedAccount(tx, id).forNoKeyUpdate().executeTakeFirst();
  if (!account) throw new Refusal("missing", "404 Not found");
  if (account.user_type !== "service_account") throw new Refusal("invalid", "User is not a service account");
  return account;
}
