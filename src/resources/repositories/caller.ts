import type { ActingUser, Somebody } from "#access/actor.ts";

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

/** The caller as the rules on levels know them; a deploy key is nobody there. */
export const actorOf = (caller: GitCaller): Somebody | null => (caller.kind === "user" ? { user: caller.user } : null);
