import { type Access, anyone } from "#access/access.ts";
import { isAdministrator } from "#access/actor.ts";
import type { Config } from "#config.ts";
import { addressMatcher, LOOPBACK } from "#lib/networks.ts";
import { forbidden } from "#lib/refusal.ts";

/** Whether figures about the installation may be shown to this caller. */
function isOperator(config: Config, address: string, administrator: boolean): boolean {
  return administrator || addressMatcher([LOOPBACK, ...config.metricsAllow])(address);
}

/** Anyone; probes are answered without a look at the database. */
export const whoeverAsks = (): Access<object> => ({ ...anyone(), ignoresCredentials: true });

/** Loopback, the allowed addresses, and administrators. */
export const operator = (): Access<object> => ({
  rule: "loopback, allowed addresses and administrators",
  signedIn: false,
  scopes: [],
  check({ config, actor, address }) {
    if (!isOperator(config, address, isAdministrator(actor))) throw forbidden();
    return {};
  },
});

/** Anyone; operators are told more. */
export const anyoneOrOperator = (): Access<{ detailed: boolean }> => ({
  rule: "anyone; details for loopback, allowed addresses and administrators",
  signedIn: false,
  scopes: [],
  check: ({ config, actor, address }) => ({ detailed: isOperator(config, address, isAdministrator(actor)) }),
});
