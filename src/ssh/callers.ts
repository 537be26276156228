import { stateProblem } from "#access/authenticate.ts";
import { type KeyForSsh, keyForSsh } from "#resources/deploy-keys/queries.ts";
import type { GitCaller } from "#resources/repositories/caller.ts";
import type { Services } from "#services.ts";

/** A key that opens something just now, and who comes with it. */
export interface Comer {
  readonly key: KeyForSsh;
  readonly caller: GitCaller;
}

/** Who is counted for what a key takes. */
export const principalOf = ({ key }: Comer): string =>
  key.kind === "user" ? `user ${key.user.id}` : `deploy key ${key.id}`;

/** Whoever a key stands for, or why it opens nothing, to be told only to somebody who proved to have it. */
type Coming = { readonly comer: Comer } | { readonly problem: string };

/** Looks a key up on the primary each time: what was removed, blocked or has expired since is refused at once. */
export async function comingWith({ db }: Pick<Services, "db">, fingerprint: string): Promise<Coming> {
  const key = await keyForSsh(db, fingerprint);
  if (!key) return { problem: "This key is not known here" };
  if (key.expired) return { problem: "This key has expired" };
  if (key.usage_type === "signing") return { problem: "This key is only for signing" };
  if (key.kind === "deploy") {
    return {
      comer: { key, caller: { kind: "deploy key", key: { id: key.id, title: key.title, user_id: key.user_id } } },
    };
  }
  const problem = stateProblem(key.user);
  return problem === undefined
    ? { comer: { key, caller: { kind: "user", user: key.user, keyId: key.id } } }
    : { problem };
}
