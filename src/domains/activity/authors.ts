import { actingUserByIdOrName } from "#access/acting-users.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { canSeeProfile } from "#domains/identity/users/access.ts";
import { findAccount } from "#domains/identity/users/queries.ts";

/** The id of a user whose events a caller asks for, or 0, the id of nobody, if their profile is hidden. */
export async function authorShownTo(databases: Databases, actor: Actor, idOrName: string): Promise<number> {
  const named = await actingUserByIdOrName(databases, idOrName);
  const user = named && (await findAccount(databases, named.id));
  if (!user) throw missing("User");
  // Nobody learns from the answer whether a hidden profile has events.
  return canSeeProfile(actor, user) ? user.id : 0;
}
