import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

/**
 * The network that limits count an address by: a /64 of IPv6, since one customer usually has all of it, and a single
 * address of IPv4, also where it is written as IPv6 (`::ffff:192.0.2.1`).
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  if (isMapped) return groups.slice(6).flatMap(bytesOf).join(".");
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":");
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = "", tail] = address.replace(/%.*/, "").split("::");
  const [before, after] = [numbersOf(head), numbersOf(tail ?? "")];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

const numbersOf = (groups: string): number[] =>
  groups === ""
    ? []
    : groups.split(":").flatMap((group) => (group.includes(".") ? pairsOf(group) : parseInt(group, 16)));

/** The last two groups, which may be written as an IPv4 address. */
function pairsOf(ipv4: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}

const bytesOf = (group: number): number[] => [group >> 8, group & 255];

/** The address in a text that may add a port or an interface: `192.0.2.1:80`, `[2001:db8::1]:443`, `fe80::1%eth0`. */
export function addressIn(text: string): string | undefined {
  if (isIP(text) !== 0) return text.replace(/%.*/, "");
  const [, ipv4 = ""] = /^([\d.]+):\d{1,5}$/.exec(text) ?? [];
  if (isIPv4(ipv4)) return ipv4;
  const [, ipv6 = ""] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text) ?? [];
  return isIPv6(ipv6) ? ipv6.replace(/%.*/, "") : undefined;
}

export const LOOPBACK = "loopback";
/** Names that Fastify knows as well. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  [LOOPBACK]: ["127.0.0.0/8", "::1"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/** Tells whether an address is among these addresses and networks, such as `192.0.2.1` and `2001:db8::/32`. */
export function addressMatcher(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of entries.flatMap((name) => NAMED[name] ?? [name])) {
    const [network = "", bits] = entry.split("/");
    if (isIP(network) === 0) throw new Error(`${entry} is neither an address nor a network`);
    if (bits === undefined) list.addAddress(network, familyOf(network));
    else list.addSubnet(network, Number(bits), familyOf(network));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");
