import Type from "typebox";
import { noSessionCookie } from "#http/cookies.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { missing } from "#lib/refusal.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { presentCurrentUser, viewAt } from "#domains/identity/users/present.ts";
import { findAccount, identitiesOf } from "#domains/identity/users/queries.ts";
import { person, signingIn, withSession } from "./access.ts";
import { endSessions } from "#domains/identity/credentials/actions.ts";
import { endSession, expireSession } from "./actions.ts";
import { NewSession, presentSession, Session } from "./entity.ts";
import { NewPassword, SignIn } from "./params.ts";
import { changePassword, hashNewPassword } from "./password.ts";
import { sessionsOf } from "./queries.ts";
import { sendSession, sessionIdOf, withRenewedSession } from "./renewal.ts";
import { signIn } from "./sign-in.ts";
import { verifyPassword } from "./verify.ts";

export const sessions = {
  signIn: endpoint({
    method: "POST",
    path: "/session",
    summary: "Sign in with a password and begin a session",
    access: signingIn(),
    params: SignIn,
    returns: NewSession,
    audit: "user_signed_in",
    limit: "sign-in",
    // A wrong password is counted and audited although the request fails.
    transaction: "own",
    async handle({ databases, origin, params, ...response }) {
      const { services, site } = response;
      const { userId, secret, ends_at } = await signIn(services, origin, params);
      const user = await findAccount(databases, userId);
      if (!user) throw missing("User");
      const view = viewAt(site, services);
      return {
        csrf_token: sendSession(response, secret),
        expires_at: ends_at,
        user: presentCurrentUser(user, await identitiesOf(databases.write, [userId]), view),
      };
    },
  }),

  signOut: endpoint({
    method: "DELETE",
    path: "/session",
    summary: "End the session that the request is made by",
    access: withSession(),
    params: Type.Object({}),
    audit: "user_signed_out",
    async handle({ tx, actor, services, site, setHeader, audit }) {
      await expireSession(tx, actor.session.id);
      audit(targetOf(actor.user));
      setHeader("set-cookie", noSessionCookie(services.config, site));
    },
  }),

  list: endpoint({
    method: "GET",
    path: "/user/sessions",
    summary: "List one's own sessions",
    access: person(),
    params: Type.Object({}),
    returns: pageOf(Session, { id: "s.id", sort: "desc" }),
    handle: ({ db, actor, page }) => page(sessionsOf(db, actor.user.id), presentSession(sessionIdOf(actor))),
  }),

  end: endpoint({
    method: "DELETE",
    path: "/user/sessions/:id",
    summary: "End one of one's own sessions",
    access: person(),
    params: Type.Object({ id: Id }),
    audit: "session_ended",
    async handle({ tx, actor, params, audit }) {
      const ended = await endSession(tx, actor.user.id, params.id);
      if (!ended) throw missing("Session");
      audit({ ...targetOf(actor.user), type: "Session", id: params.id, name: ended.ip_address ?? "" });
    },
  }),

  endOthers: endpoint({
    method: "DELETE",
    path: "/user/sessions",
    summary: "End all of one's own sessions but the one that the request is made by",
    access: person(),
    params: Type.Object({}),
    audit: "sessions_ended",
    async handle({ tx, actor, audit }) {
      const ended = await endSessions(tx, actor.user.id, sessionIdOf(actor));
      audit({ ...targetOf(actor.user), details: { ended } });
    },
  }),

  changePassword: endpoint({
    method: "PUT",
    path: "/user/password",
    summary: "Change one's own password",
    access: person(),
    params: NewPassword,
    audit: "user_password_changed",
    transaction: "own",
    async handle({ params, ...context }) {
      const { services, origin, actor } = context;
      const account = await verifyPassword(services, origin, actor.user.id, params.current_password);
      const digest = await hashNewPassword(services, account, params.password);
      await withRenewedSession(context, "user_password_changed", (tx) =>
        changePassword(tx, services.jobs, account, digest, sessionIdOf(actor)),
      );
    },
  }),
};
