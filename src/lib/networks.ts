import { isIPv6 } from "node:net";

/** The network that an address is counted with: for IPv6 its /64, since one customer usually has all of that. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail ? tail.split(":") : [];
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after];
  return all.slice(0, 4).join(":");
}
