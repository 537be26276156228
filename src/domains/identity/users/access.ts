import { type Actor, isAdministrator } from "#access/principal.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Settings } from "#db/settings.ts";
import { missing } from "#lib/refusal.ts";
import type { Account } from "./queries.ts";

type Profile = Pick<Account, "id" | "private_profile" | "state" | "confirmed_at">;

/**
 * Whether a caller sees the personal part of a profile. Only the user and administrators see it if the profile is
 * private, the account closed or its address unconfirmed.
 */
export const canSeeProfile = (actor: Actor | null, user: Profile): boolean =>
  isAdministrator(actor) ||
  user.id === actor?.user.id ||
  !(user.private_profile || CLOSED_STATES.includes(user.state) || user.confirmed_at === null);

/**
 * Whether the instance hides a user from callers who are not signed in: every user, or every user that is named by id,
 * so that ids cannot be enumerated.
 */
export async function hidesUser(actor: Actor | null, settings: Settings, idOrName: number | string): Promise<boolean> {
  if (actor) return false;
  const { anonymous_user_listing: allowed } = await settings.current();
  return allowed === "off" || (allowed === "username" && /^\d+$/.test(String(idOrName)));
}

/** Answers as for a user who does not exist. */
export async function refuseHiddenUser(actor: Actor | null, settings: Settings, idOrName: number | string) {
  if (await hidesUser(actor, settings, idOrName)) throw missing("User");
}
