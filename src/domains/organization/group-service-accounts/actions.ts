import { sql } from "kysely";
import { isAdministrator } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";
import { lockNamespace, refuseClosed } from "#domains/foundation/namespaces/placement.ts";
import {
  type AccountFields,
  type AccountWriteContext,
  createAccount,
  type OwningGroup,
  updateAccount,
} from "#domains/identity/service-accounts/actions.ts";
import { accountsOf, type NamedAccount } from "#domains/identity/service-accounts/queries.ts";
import { verifiedDomainsOf } from "#domains/organization/verified-domains/queries.ts";

/** Creates a service account of a top-level group. */
export async function createGroupAccount(write: AccountWriteContext, fields: AccountFields, groupId: number) {
  const { tx, actor, services } = write;
  await lockGroup(tx, groupId);
  if (!isAdministrator(actor)) {
    const { group_service_accounts_limit: limit } = await services.settings.current();
    await refuseBeyondLimit(tx, groupId, limit);
  }
  return createAccount(write, fields, owningGroup(tx, groupId));
}

/** Changes a service account of the instance or of any group. */
export function updateAnyAccount(write: AccountWriteContext, account: NamedAccount, fields: AccountFields) {
  const { provisioned_by_group_id: groupId } = account;
  return updateAccount(write, account, fields, groupId === null ? undefined : owningGroup(write.tx, groupId));
}

const owningGroup = (tx: Tx, id: number): OwningGroup => ({
  id,
  async owns(email) {
    const domain = email.slice(email.lastIndexOf("@") + 1);
    return (await verifiedDomainsOf(tx, id).where("d.domain", "=", domain).executeTakeFirst()) !== undefined;
  },
});

/** Locks the group, so that its deletion waits for the new account and then ends it too. */
async function lockGroup(tx: Tx, id: number) {
  const group = await lockNamespace(tx, id);
  if (!group) throw missing("Group");
  if (group.traversal_ids.length > 1) throw badRequest("Group is not a top-level group");
  refuseClosed(group);
}

/** The advisory lock serializes concurrent requests for one group, so that each sees the true count. */
async function refuseBeyondLimit(tx: Tx, groupId: number, limit: number) {
  if (limit === 0) return;
  await sql`select pg_advisory_xact_lock(hashtextextended(${`service accounts of ${groupId}`}, 0))`.execute(tx);
  const accounts = await accountsOf(tx, groupId).limit(limit).execute();
  if (accounts.length >= limit)
    throw forbidden(
      `The group has ${limit} service accounts, the most that it may have; ask an administrator for more`,
    );
}
