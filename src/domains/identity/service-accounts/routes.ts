import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { createAccount } from "./actions.ts";
import { presentAccount, presentSummary, ServiceAccount, ServiceAccountSummary } from "./entity.ts";
import { AccountFields } from "./params.ts";
import { accountPaging, accountsOf } from "./queries.ts";

const notHosted = { plan: "premium", offering: ["self-managed", "dedicated"] } as const;

/** Service accounts of the instance. */
export const serviceAccounts = {
  list: endpoint({
    method: "GET",
    path: "/service_accounts",
    summary: "List service accounts of the instance and of all groups",
    access: administrator(),
    ...notHosted,
    params: Type.Object({}),
    returns: pageOf(ServiceAccountSummary, accountPaging),
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
    async handle({ params, audit, ...context }) {
      const account = await createAccount(context, params);
      audit(targetOf(account));
      return presentAccount(account);
    },
  }),
};
