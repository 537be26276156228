import { isSamePrincipal, type Reauthenticate } from "#access/principal.ts";
import type { RefChange } from "#git/push-commands.ts";
import { forbidden, missing, unauthenticated } from "#lib/refusal.ts";
import type { PushAccess, RepositoryAccess } from "#domains/storage/pushes/access.ts";
import { forwardOnly, type Pusher, refusedChanges } from "#domains/storage/pushes/rules.ts";
import type { Services } from "#services.ts";

/** Turns the permission to push into one that is checked again before refs change. */
export const reauthorized = (
  services: Pick<Services, "db">,
  access: RepositoryAccess,
  reauthenticate: Reauthenticate,
): PushAccess => ({
  ...access,
  reauthorize: (changes) => reauthorize(services, access, reauthenticate, changes),
});

/**
 * Checks again on the primary whether refs may be changed: the credential, the account, the level and the state of the
 * project may have changed since the request began. HTTP, SSH and the API all use it.
 */
async function reauthorize(
  { db }: Pick<Services, "db">,
  before: Pusher,
  reauthenticate: Reauthenticate,
  changes: readonly RefChange[],
) {
  const principal = await reauthenticate();
  if (!isSamePrincipal(before.principal, principal)) throw unauthenticated();
  const { kind } = before;
  const owner = await kind.find(db, principal, before.owner.id);
  if (!owner) throw missing(kind.type);
  await kind.refuse(db, principal, owner, "receive");
  const now = { principal, kind, owner };
  const [reason] = refusedChanges(now, changes).values();
  if (reason !== undefined) throw forbidden(reason);
  // The hook checked fast-forwards under the earlier rules.
  const checked = new Set(forwardOnly(before, changes));
  if (forwardOnly(now, changes).some((ref) => !checked.has(ref))) {
    throw forbidden("What you may do with the default branch changed meanwhile. Please try again.");
  }
}
