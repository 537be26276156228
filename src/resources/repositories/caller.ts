import type { ActingUser, Actor, Somebody } from "#access/actor.ts";

/** Who asks for a repository, by whichever edge they came. */
export type GitCaller =
  | { readonly kind: "anonymous" }
  | {
      readonly kind: "user";
      readonly user: ActingUser;
      /** The key that they proved to have, where they came by SSH. */
      readonly keyId?: number;
    }
  | {
      readonly kind: "deploy key";
      /** `user_id` made it; what it does is told of them. */
      readonly key: { readonly id: number; readonly title: string; readonly user_id: number };
    };

/** Authenticates a caller again by the credential that they came with; throws a Refusal if it has ended since. */
export type Reauthenticate = () => Promise<GitCaller>;

/** The caller that a request over HTTP comes from. */
export const callerOf = (actor: Actor | null): GitCaller =>
  actor ? { kind: "user", user: actor.user } : { kind: "anonymous" };

/** The caller as the rules on levels know them; a deploy key is nobody there. */
export const actorOf = (caller: GitCaller): Somebody | null => (caller.kind === "user" ? { user: caller.user } : null);

/** Whether two callers are one: a fingerprint or a username may belong to somebody else by now. */
export function isSameCaller(one: GitCaller, other: GitCaller): boolean {
  if (one.kind === "user" && other.kind === "user") return one.user.id === other.user.id && one.keyId === other.keyId;
  return one.kind === "deploy key" && other.kind === "deploy key" && one.key.id === other.key.id;
}
