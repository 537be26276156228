import type { Actor } from "./principal.ts";

/** Who a request is counted for. Service accounts of a group share a budget, or Owners could multiply theirs. */
export function budgetOwner(actor: Actor | null): number | string | undefined {
  const groupId = actor?.user.service_account_group_id ?? null;
  return groupId === null ? actor?.user.id : `group ${groupId}`;
}
