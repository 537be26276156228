import type { Caller } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { type GroupSeen, inTopLevelGroup } from "#access/containers.ts";
import type { Db, Tx } from "#db/database.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";
import { tokensOf } from "#domains/identity/tokens/queries.ts";
import { namedAccount, type NamedAccount } from "#domains/identity/service-accounts/queries.ts";

const owners = inTopLevelGroup("owner");

/** Admits those who manage the service accounts of a top-level group. */
export const managers: typeof owners = {
  ...owners,
  rule: "administrators, and Owners of the top-level group if the instance allows it",
  async check(caller) {
    const granted = await owners.check(caller);
    if (!isAdministrator(granted.actor) && !(await ownersMay(caller)))
      throw forbidden("On this instance service accounts are managed by administrators alone");
    return granted;
  },
};

/** On the hosted offering Owners always may; elsewhere a setting decides, whose default depends on the offering. */
async function ownersMay({ config, settings }: Caller): Promise<boolean> {
  if (config.offering === "hosted") return true;
  const { service_accounts_by_owners: chosen } = await settings.current();
  return chosen ?? config.offering === "all";
}

/** Finds a service account of a group by the id in the request. */
export async function accountIn(db: Db, group: GroupSeen, id: number): Promise<NamedAccount> {
  return belonging(await namedAccount(db, id).executeTakeFirst(), group);
}

/** The same with a row lock, for writes; Owners may not use an account with administrator or auditor rights. */
export async function lockedAccount(tx: Tx, actor: Actor, group: GroupSeen, id: number): Promise<NamedAccount> {
  const account = belonging(await namedAccount(tx, id).forNoKeyUpdate().executeTakeFirst(), group);
  if (account.sees_all && !isAdministrator(actor))
    throw forbidden("The account is an administrator or auditor, which requires an administrator");
  return account;
}

function belonging(account: NamedAccount | undefined, group: GroupSeen): NamedAccount {
  if (!account) throw missing("User");
  if (account.user_type !== "service_account") throw badRequest("User is not of type Service Account");
  if (account.provisioned_by_group_id !== group.id) throw missing("User");
  return account;
}

/** Finds a token of a service account; another user's token is answered like a missing one. */
export async function tokenOf(db: Db, account: NamedAccount, id: number) {
  const token = await tokensOf(db, account.id).where("t.id", "=", id).executeTakeFirst();
  if (!token) throw missing("Personal Access Token");
  return token;
}
