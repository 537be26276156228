import { isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { addressMatcher, LOOPBACK } from "#lib/networks.ts";

/** The networks of IPv4 that are not the public Internet. */
const isSpecialIPv4 = addressMatcher([
  "0.0.0.0/8", // this network; Linux connects 0.0.0.0 to itself
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by the customers of a provider, also used inside clouds
  "127.0.0.0/8", // loopback
  "168.63.129.16", // the host below a virtual machine of Azure
  "169.254.0.0/16", // link-local, with the metadata of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
]);

/** All that is assigned as public IPv6: no loopback, mapped, NAT64, unique local, link-local or multicast address. */
const isGlobalIPv6 = addressMatcher(["2000::/3"]);
const isSpecialIPv6 = addressMatcher([
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which contains an address of IPv4
  "3fff::/20", // documentation
]);

/** Whether an address is on the public Internet by itself, not by mapping or translating another one. */
export const isPublic = (address: string): boolean =>
  isIPv4(address)
    ? !isSpecialIPv4(address)
    : isIPv6(address) && !address.includes("%") && isGlobalIPv6(address) && !isSpecialIPv6(address);

export interface AddressRules {
  /** Addresses and networks that may be connected to although they are not public. */
  readonly allowed: readonly string[];
  /** Whether all others that are not public may be connected to as well. */
  readonly allowLocal: boolean;
  /** Ports of this process: a request to itself would come from an address that it trusts. */
  readonly ownPorts: readonly number[];
}

/** Whether a connection to an address and port may be opened. */
export type MayConnect = (address: string, port: number) => boolean;

export function addressRules({ allowed, allowLocal, ownPorts }: AddressRules): MayConnect {
  const isAllowed = addressMatcher(allowed);
  const isThisMachine = addressMatcher([LOOPBACK, "0.0.0.0", "::", ...interfaceAddresses()]);
  return (address, port) => {
    if (isThisMachine(address) && ownPorts.includes(port)) return false;
    return allowLocal || isAllowed(address) || (isPublic(address) && !isThisMachine(address));
  };
}

const interfaceAddresses = () =>
  Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address));
