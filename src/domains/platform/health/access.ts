import { type Access, anyone, defineRule, USERS_AND_ANONYMOUS } from "#access/access.ts";
import { actorOf, isAdministrator, type Principal } from "#access/principal.ts";
import type { Config } from "#config.ts";
import { addressMatcher, LOOPBACK } from "#lib/networks.ts";
import { forbidden } from "#lib/refusal.ts";

/** Whether this caller may see operational details of the installation. */
function isOperator(config: Config, address: string, principal: Principal): boolean {
  return isAdministrator(actorOf(principal)) || addressMatcher([LOOPBACK, ...config.metricsAllow])(address);
}

/** Anyone; credentials are ignored, so that probes are answered without querying the database. */
export const anyoneUnchecked = (): Access<object> => ({ ...anyone(), ignoresCredentials: true });

/** Loopback, the allowed addresses, and administrators. */
export const operator = (): Access<object> =>
  defineRule({
    rule: "loopback, allowed addresses and administrators",
    admits: USERS_AND_ANONYMOUS,
    scopes: [],
    check({ config, principal, address }) {
      if (!isOperator(config, address, principal))
        throw forbidden("Requires the token of an administrator, or a request from an allowed address");
      return {};
    },
  });

/** Anyone; operators get more details. */
export const anyoneOrOperator = (): Access<{ detailed: boolean }> =>
  defineRule({
    rule: "anyone; details for loopback, allowed addresses and administrators",
    admits: USERS_AND_ANONYMOUS,
    scopes: [],
    check: ({ config, principal, address }) => ({ detailed: isOperator(config, address, principal) }),
  });
