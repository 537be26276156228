import { BlockList, isIPv6 } from "node:net";
import type { Access } from "#access/access.ts";
import { isAdministrator } from "#access/actor.ts";
import type { Config } from "#config.ts";
import { forbidden } from "#lib/refusal.ts";

/** Whether figures about the installation may be shown to this caller. */
function isOperator(config: Config, address: string, administrator: boolean): boolean {
  if (administrator) return true;
  const plain = address.replace(/^::ffff:/, "");
  const allowed = new BlockList();
  allowed.addSubnet("127.0.0.0", 8);
  allowed.addAddress("::1", "ipv6");
  for (const entry of config.metricsAllow) {
    const [network = "", bits] = entry.split("/");
    const family = isIPv6(network) ? "ipv6" : "ipv4";
    if (bits === undefined) allowed.addAddress(network, family);
    else allowed.addSubnet(network, Number(bits), family);
  }
  return allowed.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
}

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
