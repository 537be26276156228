import { stateProblem } from "#access/authenticate.ts";
import type { SignInKind } from "#lib/refusal.ts";
import type { DeployKey, UserBySshKey } from "#access/principal.ts";
import { type KeyForSsh, keyForSsh } from "#domains/code/deploy-keys/queries.ts";
import type { Services } from "#services.ts";

/** A key that may be used now, and the principal who holds it. */
export interface KeyHolder {
  readonly key: KeyForSsh;
  readonly principal: UserBySshKey | DeployKey;
}

/** The problem may be shown only to a client that proved to hold the key. */
type Authentication = { readonly holder: KeyHolder } | { readonly problem: string; readonly kind: SignInKind };

/** Looks a key up on the primary each time, so that a removed, expired or blocked one is refused at once. */
export async function authenticateKey({ db }: Pick<Services, "db">, fingerprint: string): Promise<Authentication> {
  const key = await keyForSsh(db, fingerprint);
  const kind = key?.kind === "deploy" ? "deploy_key" : "ssh_key";
  if (!key) return { kind, problem: "This key is not known here" };
  if (key.expired) return { kind, problem: "This key has expired" };
  if (key.usage_type === "signing") return { kind, problem: "This key is only for signing" };
  const { id } = key;
  if (key.kind === "deploy") {
    const { title, user_id } = key;
    return { holder: { key, principal: { kind: "deploy key", key: { id, title, user_id } } } };
  }
  const problem = stateProblem(key.user);
  if (problem !== undefined) return { kind, problem };
  return { holder: { key, principal: { kind: "user by SSH key", user: key.user, key: { id } } } };
}
