import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Config } from "#config.ts";
import { addressMatcher, LOOPBACK, networkOf } from "#lib/networks.ts";

/** The share of all connections that one network may hold. */
const MAX_NETWORK_SHARE = 1 / 4;

/** Bounds connections in total and per network. Local and trusted proxies are exempt: they hold those of many callers. */
export function limitConnections(
  server: Server,
  { maxConnections, trustedProxies }: Pick<Config, "maxConnections" | "trustedProxies">,
  isExempt: (address: string) => boolean = addressMatcher([LOOPBACK, ...trustedProxies]),
) {
  const maxPerNetwork = Math.ceil(maxConnections * MAX_NETWORK_SHARE);
  const counts = new Map<string, number>();
  server.maxConnections = maxConnections;
  server.on("connection", (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isExempt(remoteAddress)) return;
    const network = networkOf(remoteAddress);
    const count = (counts.get(network) ?? 0) + 1;
    if (count > maxPerNetwork) return void socket.destroy();
    counts.set(network, count);
    socket.once("close", () => {
      const left = (counts.get(network) ?? 1) - 1;
      if (left === 0) counts.delete(network);
      else counts.set(network, left);
    });
  });
}
