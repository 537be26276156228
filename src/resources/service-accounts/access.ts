import type { Caller } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { type GroupSeen, inTopLevelGroup } from "#access/containers.ts";
import type { Db, Tx } from "#db/database.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";
import { tokensOf } from "#resources/tokens/queries.ts";
import { namedAccount, type NamedAccount } from "./queries.ts";

const owners = inTopLevelGroup("owner");

/** Who manages the service accounts of a top-level group. */
export const managers: typeof owners = {
  ...owners,
  rule: "administrators, and Owners of the top-level group where the instance lets them",
  async check(caller) {
    const granted = await owners.check(caller);
    if (!isAdministrator(granted.actor) && !(await ownersMay(caller))) throw forbidden();
    return granted;
  },
};

/** On the hosted offering Owners always may; elsewhere it is a setting, which an offering that was chosen leaves off. */
async function ownersMay({ config, settings }: Caller): Promise<boolean> {
  if (config.offering === "hosted") return true;
  const { service_accounts_by_owners: chosen } = await settings.current();
  return chosen ?? config.offering === "all";
}

/** The service account of a group that a request names. */
export async function accountIn(db: Db, group: GroupSeen, id: number): Promise<NamedAccount> {
  return belonging(await namedAccount(db, id).executeTakeFirst(), group);
}

/** The same for a write: nobody else changes it meanwhile, and one that may see everything is not the Owners' to use. */
export async function heldAccount(tx: Tx, actor: Actor, group: GroupSeen, id: number): Promise<NamedAccount> {
  const account = belonging(await namedAccount(tx, id).forNoKeyUpdate().executeTakeFirst(), group);
  if (account.sees_all && !isAdministrator(actor)) throw forbidden();
  return account;
}

function belonging(account: NamedAccount | undefined, group: GroupSeen): NamedAccount {
  if (!account) throw missing("User");
  if (account.user_type !== "service_account") throw badRequest("User is not of type Service Account");
  if (account.provisioned_by_group_id !== group.id) throw missing("User");
  return account;
}

/** A token of a service account; one of anybody else is as if it were not there. */
export async function tokenOf(db: Db, account: NamedAccount, id: number) {
  const token = await tokensOf(db, account.id).where("t.id", "=", id).executeTakeFirst();
  if (!token) throw missing("Personal Access Token");
  return token;
}
