import type { Config } from "#config.ts";

const STANDARD_PORT = "22";

/** The prefix of a repository's SSH address, in git's scp-like form if the port is 22. */
export function sshAddress({ sshUrl, sshPort }: Pick<Config, "sshUrl" | "sshPort">, site: string): string {
  const port = sshPort === "off" || sshPort === 0 ? STANDARD_PORT : String(sshPort);
  const url = new URL(sshUrl ?? `ssh://git@${new URL(site).hostname}:${port}`);
  const who = `${url.username}@${url.hostname}`;
  return ["", STANDARD_PORT].includes(url.port) ? `${who}:` : `ssh://${who}:${url.port}/`;
}
