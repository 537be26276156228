import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Config } from "#config.ts";
import { addressMatcher, LOOPBACK, networkOf } from "#lib/networks.ts";

/** One network may hold this part of all connections. */
const PART_OF_ONE = 1 / 4;

/** Bounds connections in all and by network. Proxies, on this machine or trusted, hold those of many callers. */
export function limitConnections(
  server: Server,
  { maxConnections, trustedProxies }: Pick<Config, "maxConnections" | "trustedProxies">,
  isExempt: (address: string) => boolean = addressMatcher([LOOPBACK, ...trustedProxies]),
) {
  const maxOfOne = Math.ceil(maxConnections * PART_OF_ONE);
  const counts = new Map<string, number>();
  server.maxConnections = maxConnections;
  server.on("connection", (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isExempt(remoteAddress)) return;
    const network = networkOf(remoteAddress);
    const count = (counts.get(network) ?? 0) + 1;
    if (count > maxOfOne) return void socket.destroy();
    counts.set(network, count);
    socket.once("close", () => {
      const left = (counts.get(network) ?? 1) - 1;
      if (left === 0) counts.delete(network);
      else counts.set(network, left);
    });
  });
}
