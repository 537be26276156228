import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { totpUri } from "#lib/totp.ts";
import { badRequest, forbidden } from "#lib/refusal.ts";
import { person } from "#domains/identity/sessions/access.ts";
import { endSessions } from "#domains/identity/credentials/actions.ts";
import { Code, CurrentPassword } from "#domains/identity/sessions/params.ts";
import { verifyCode, verifyPassword } from "#domains/identity/sessions/verify.ts";
import { sessionIdOf, withRenewedSession } from "#domains/identity/sessions/renewal.ts";
import { lockedUser, targetOf } from "#domains/identity/users/named.ts";
import { UserId } from "#domains/identity/users/params.ts";
import { beginSecondFactor, confirmSecondFactor, removeSecondFactor, renewRecoveryCodes } from "./actions.ts";
import { NewSecondFactor, RecoveryCodes, SecondFactor } from "./entity.ts";
import { secondFactorOf } from "./queries.ts";

const OwnCode = Type.Object({ code: Code });

export const secondFactors = {
  get: endpoint({
    method: "GET",
    path: "/user/two_factor",
    summary: "Get whether one's own account has a second factor",
    access: person(),
    params: Type.Object({}),
    returns: SecondFactor,
    handle: ({ db, actor }) => secondFactorOf(db, actor.user.id),
  }),

  begin: endpoint({
    method: "POST",
    path: "/user/two_factor",
    summary: "Create a second factor, which takes effect once it is confirmed",
    access: person(),
    params: Type.Object(CurrentPassword),
    returns: NewSecondFactor,
    audit: "two_factor_begun",
    async prepare({ services, origin, actor, params }) {
      await verifyPassword(services, origin, actor.user.id, params.current_password);
      return {};
    },
    async handle({ tx, actor, services, site, audit }) {
      const { id, username } = actor.user;
      const secret = await beginSecondFactor(tx, services.sealing, id);
      audit(targetOf(actor.user));
      return { secret, uri: totpUri(secret, "Fairlead", `${username}@${new URL(site).host}`) };
    },
  }),

  confirm: endpoint({
    method: "PUT",
    path: "/user/two_factor",
    summary: "Enable the second factor by confirming its first code",
    access: person(),
    params: OwnCode,
    returns: RecoveryCodes,
    audit: "two_factor_enabled",
    transaction: "own",
    async handle({ params, ...context }) {
      const { services, actor } = context;
      const recovery_codes = await withRenewedSession(context, "two_factor_enabled", async (tx) => {
        const codes = await confirmSecondFactor(tx, services.sealing, actor.user.id, params.code);
        await endSessions(tx, actor.user.id, sessionIdOf(actor));
        return codes;
      });
      return { recovery_codes };
    },
  }),

  disable: endpoint({
    method: "DELETE",
    path: "/user/two_factor",
    summary: "Disable the second factor",
    access: person(),
    params: OwnCode,
    audit: "two_factor_disabled",
    transaction: "own",
    async handle({ params, ...context }) {
      const { services, origin, actor } = context;
      await verifyCode(services, origin, actor.user.id, params.code);
      await withRenewedSession(context, "two_factor_disabled", async (tx) => {
        const removed = await removeSecondFactor(tx, actor.user.id, sessionIdOf(actor));
        if (!removed) throw badRequest("two-factor authentication is not enabled");
      });
    },
  }),

  replaceRecoveryCodes: endpoint({
    method: "POST",
    path: "/user/two_factor/recovery_codes",
    summary: "Replace all recovery codes",
    access: person(),
    params: OwnCode,
    returns: RecoveryCodes,
    audit: "two_factor_recovery_codes_replaced",
    async prepare({ services, origin, actor, params }) {
      await verifyCode(services, origin, actor.user.id, params.code);
      return {};
    },
    async handle({ tx, actor, audit }) {
      audit(targetOf(actor.user));
      return { recovery_codes: await renewRecoveryCodes(tx, actor.user.id) };
    },
  }),
};

/** For administrators, the second factor of other users. */
export const secondFactorsOfUsers = {
  disableTwoFactor: endpoint({
    method: "PATCH",
    path: "/users/:id/disable_two_factor",
    summary: "Disable the second factor of a user",
    access: administrator(),
    params: UserId,
    audit: "user_two_factor_disabled",
    async handle({ tx, params, audit }) {
      const user = await lockedUser(tx, params.id);
      if (user.admin) throw forbidden("Two-factor authentication for admins cannot be disabled via the API");
      const removed = await removeSecondFactor(tx, user.id);
      if (!removed) throw badRequest("Two-factor authentication is not enabled for this user");
      audit(targetOf(user));
    },
  }),
};
