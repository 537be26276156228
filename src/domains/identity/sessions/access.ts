import { type Access, type Caller, defineRule, type Origin, USERS, USERS_AND_ANONYMOUS } from "#access/access.ts";
import type { Actor, UserBySession } from "#access/principal.ts";
import { badRequest, forbidden } from "#lib/refusal.ts";

const originOf = ({ address, requestId, agent }: Caller): Origin => ({ address, requestId, agent });

/** Anyone who signs in; an existing session of the browser is ignored. */
export const signingIn = (): Access<{ origin: Origin }> =>
  defineRule({
    rule: "anyone",
    admits: USERS_AND_ANONYMOUS,
    signsIn: true,
    scopes: [],
    check: (caller) => ({ origin: originOf(caller) }),
  });

/** A human user: bots and service accounts have no password, second factor or browser. */
export const person = (): Access<{ actor: Actor; origin: Origin }> =>
  defineRule({
    rule: "people who are signed in, not bots or service accounts",
    admits: USERS,
    scopes: [],
    check(caller) {
      const { principal: actor } = caller;
      if (actor.user.user_type !== "human") throw forbidden("Bots and service accounts do not sign in");
      return { actor, origin: originOf(caller) };
    },
  });

/** A user who is signed in with a browser. */
export const withSession = (): Access<{ actor: UserBySession }> =>
  defineRule({
    rule: "those who are signed in by a session",
    admits: USERS,
    scopes: [],
    check({ principal: actor }) {
      if (actor.kind !== "user by session")
        throw badRequest("this request is made by a token, and there is no session");
      return { actor };
    },
  });
