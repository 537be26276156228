import { type Access, type Caller, type Origin, requireActor } from "#access/access.ts";
import type { Actor, UserBySession } from "#access/actor.ts";
import { badRequest, forbidden } from "#lib/refusal.ts";

const originOf = ({ address, requestId, agent }: Caller): Origin => ({ address, requestId, agent });

/** Whoever wants to sign in, whatever session their browser still has. */
export const signingIn = (): Access<{ origin: Origin }> => ({
  rule: "anyone",
  signedIn: false,
  signsIn: true,
  scopes: [],
  check: (caller) => ({ origin: originOf(caller) }),
});

/** A person; what works by itself has no password, no second factor and no browser. */
export const person = (): Access<{ actor: Actor; origin: Origin }> => ({
  rule: "people who are signed in, not bots or service accounts",
  signedIn: true,
  scopes: [],
  check(caller) {
    const actor = requireActor(caller.actor);
    if (actor.user.user_type !== "human") throw forbidden("Bots and service accounts do not sign in");
    return { actor, origin: originOf(caller) };
  },
});

/** Whoever is signed in with a browser. */
export const withSession = (): Access<{ actor: UserBySession }> => ({
  rule: "those who are signed in by a session",
  signedIn: true,
  scopes: [],
  check(caller) {
    const actor = requireActor(caller.actor);
    if (actor.kind !== "user by session") throw badRequest("this request is made by a token, and there is no session");
    return { actor };
  },
});
