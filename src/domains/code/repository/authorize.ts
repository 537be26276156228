import type { Principal } from "#access/principal.ts";
import type { Consumer } from "#lib/consumer.ts";
import { Refusal } from "#lib/refusal.ts";
import type { Owned, RepositoryAccess, RepositoryNeed } from "#domains/storage/pushes/access.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import type { Services } from "#services.ts";

export const noRepository = () =>
  new Refusal("missing", "There is no repository at this address, or you may not see it.");

/** Authorizes access to a repository whose owner the principal may see: the one decision for HTTP, SSH and the API. */
export async function authorize(
  services: Services,
  principal: Principal,
  owned: Owned,
  need: RepositoryNeed,
  consumer: Consumer,
): Promise<RepositoryAccess> {
  await owned.kind.refuse(services.db, principal, owned.owner, need);
  return accessTo(services, principal, owned, need, consumer);
}

/** The same after an access rule has decided it for the same request. */
export async function accessTo(
  services: Services,
  principal: Principal,
  { kind, owner }: Owned,
  need: RepositoryNeed,
  consumer: Consumer,
): Promise<RepositoryAccess> {
  const maxInputBytes = need === "read" ? undefined : await kind.maxInputBytes(services, owner);
  const repository = await repositoryOf(services, owner, consumer);
  return { principal, kind, owner, repository, ...(maxInputBytes !== undefined && { maxInputBytes }) };
}
