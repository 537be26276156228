import type { Access } from "#access/access.ts";
import { requireActor } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Settings } from "#db/settings.ts";
import { missing } from "#lib/refusal.ts";
import { currentUserByDigest, type CurrentUserRow, account, type Account } from "./queries.ts";

/** The caller's own account: the statement that finds the token brings the whole user along. */
export const ownAccount = (): Access<{
  actor: Actor;
  user: Account;
  identities: CurrentUserRow["identities"] | undefined;
}> => ({
  rule: "anyone who is signed in",
  signedIn: true,
  scopes: ["read_user"],
  findCaller: (db, digest) => db.point.load(currentUserByDigest, digest),
  async check({ db, actor, row }) {
    const found = requireActor(actor);
    if (row) {
      const whole = row as CurrentUserRow;
      return { actor: found, user: whole, identities: whole.identities ?? [] };
    }
    const user = await account(db, found.user.id);
    if (!user) throw missing("User");
    return { actor: found, user, identities: undefined };
  },
});

type Profile = Pick<Account, "id" | "private_profile" | "state" | "confirmed_at">;

/** Whether somebody sees the more personal part of a profile: of a private one, or a closed account's, few do. */
export const isOpenTo = (actor: Actor | null, user: Profile): boolean =>
  isAdministrator(actor) ||
  user.id === actor?.user.id ||
  !(user.private_profile || CLOSED_STATES.includes(user.state) || user.confirmed_at === null);

/**
 * Whether the instance tells callers who are not signed in nothing of the user whom a request names: of nobody, or of
 * nobody by number, so that ids cannot be walked over.
 */
export async function hidesUser(actor: Actor | null, settings: Settings, idOrName: number | string): Promise<boolean> {
  if (actor) return false;
  const { anonymous_user_listing: allowed } = await settings.current();
  return allowed === "off" || (allowed === "username" && /^\d+$/.test(String(idOrName)));
}

/** Refuses the same as for a user who does not exist. */
export async function refuseHiddenUser(actor: Actor | null, settings: Settings, idOrName: number | string) {
  if (await hidesUser(actor, settings, idOrName)) throw missing("User");
}
