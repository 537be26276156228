import Type from "typebox";
import { endpoint } from "#http/endpoint.ts";
import { totpUri } from "#lib/totp.ts";
import { badRequest } from "#lib/refusal.ts";
import { person } from "#resources/sessions/access.ts";
import { endSessions } from "#resources/sessions/actions.ts";
import { Code, CurrentPassword } from "#resources/sessions/params.ts";
import { proveCode, provePassword } from "#resources/sessions/proof.ts";
import { renewing, sessionIdOf } from "#resources/sessions/renewal.ts";
import { targetOf } from "#resources/users/named.ts";
import { beginSecondFactor, confirmSecondFactor, removeSecondFactor, renewRecoveryCodes } from "./actions.ts";
import { NewSecondFactor, RecoveryCodes, SecondFactor } from "./entity.ts";
import { secondFactorOf } from "./queries.ts";

const OwnCode = Type.Object({ code: Code });

export const secondFactors = {
  get: endpoint({
    method: "GET",
    path: "/user/two_factor",
    summary: "Get whether one signs in with a second factor",
    access: person(),
    params: Type.Object({}),
    returns: SecondFactor,
    handle: ({ db, actor }) => secondFactorOf(db, actor.user.id),
  }),

  begin: endpoint({
    method: "POST",
    path: "/user/two_factor",
    summary: "Make a second factor, which counts once it is confirmed",
    access: person(),
    params: Type.Object(CurrentPassword),
    returns: NewSecondFactor,
    audit: "two_factor_begun",
    async prepare({ services, origin, actor, params }) {
      await provePassword(services, origin, actor.user.id, params.current_password);
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
    summary: "Enable the second factor by a first code of it",
    access: person(),
    params: OwnCode,
    returns: RecoveryCodes,
    audit: "two_factor_enabled",
    transaction: "own",
    async handle({ params, ...context }) {
      const { services, actor } = context;
      const recovery_codes = await renewing(context, "two_factor_enabled", async (tx) => {
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
      await proveCode(services, origin, actor.user.id, params.code);
      await renewing(context, "two_factor_disabled", async (tx) => {
        const removed = await removeSecondFactor(tx, actor.user.id, sessionIdOf(actor));
        if (!removed) throw badRequest("two-factor authentication is not enabled");
      });
    },
  }),

  replaceRecoveryCodes: endpoint({
    method: "POST",
    path: "/user/two_factor/recovery_codes",
    summary: "Replace all recovery codes by new ones",
    access: person(),
    params: OwnCode,
    returns: RecoveryCodes,
    audit: "two_factor_recovery_codes_replaced",
    async prepare({ services, origin, actor, params }) {
      await proveCode(services, origin, actor.user.id, params.code);
      return {};
    },
    async handle({ tx, actor, audit }) {
      audit(targetOf(actor.user));
      return { recovery_codes: await renewRecoveryCodes(tx, actor.user.id) };
    },
  }),
};
