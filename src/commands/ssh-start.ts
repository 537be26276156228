import type { Services } from "#services.ts";
import type { RunningSsh } from "#ssh/server.ts";
import type { HeldPort } from "./ports.ts";

/** Starts SSH unless it is disabled, and logs its address and host key fingerprints. */
export async function beginSsh(services: Services, held?: HeldPort): Promise<RunningSsh | undefined> {
  const { sshHost: host, sshPort: port, sshUrl } = services.config;
  if (port === "off") return undefined;
  const { startSsh } = await import("#ssh/server.ts");
  const running = await startSsh(services, { host, port, beforeListening: () => held?.release() });
  const address = sshUrl ?? `ssh://git@${host.includes(":") ? `[${host}]` : host}:${running.port}`;
  const hostKeys = Object.fromEntries(running.hostKeys.map(({ kind, fingerprint }) => [kind, fingerprint]));
  services.log.info({ address, port: running.port, host_keys: hostKeys }, `SSH is at ${address}`);
  return running;
}
