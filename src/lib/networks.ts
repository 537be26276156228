import { BlockList, isIPv6 } from "node:net";

/** The network that an address is counted with: for IPv6 its /64, since one customer usually has all of that. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail ? tail.split(":") : [];
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after];
  return all.slice(0, 4).join(":");
}

export const LOOPBACK = "loopback";
/** Names that Fastify knows as well. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  [LOOPBACK]: ["127.0.0.0/8", "::1"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/** Tests addresses against a list of addresses and networks, such as `10.0.0.0/8`. */
export function addressMatcher(entries: readonly string[]): (address: string) => boolean {
  const listed = new BlockList();
  for (const entry of entries.flatMap((name) => NAMED[name] ?? [name])) {
    const [network = "", bits] = entry.split("/");
    const family = isIPv6(network) ? "ipv6" : "ipv4";
    if (bits === undefined) listed.addAddress(network, family);
    else listed.addSubnet(network, Number(bits), family);
  }
  return (address) => {
    const plain = address.replace(/^::ffff:/, "");
    return listed.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
  };
}
