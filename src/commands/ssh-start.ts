import type { Services } from "#services.ts";
import type { RunningSsh } from "#ssh/server.ts";
import { print } from "./output.ts";

/** Starts SSH unless it is switched off, and says where it is and what it proves itself with. */
export async function beginSsh(services: Services): Promise<RunningSsh | undefined> {
  const { sshHost: host, sshPort: port, sshUrl } = services.config;
  if (port === "off") return undefined;
  const { startSsh } = await import("#ssh/server.ts");
  const running = await startSsh(services, { host, port });
  const address = sshUrl ?? `ssh://git@${host.includes(":") ? `[${host}]` : host}:${running.port}`;
  print(`SSH is at ${address}`);
  for (const { kind, fingerprint } of running.hostKeys) print(`  ${kind} ${fingerprint}`);
  services.log.info({ address, port: running.port }, "listening for SSH");
  return running;
}
