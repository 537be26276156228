import { parseArgs } from "node:util";
import { readSshRequest } from "#config.ts";
import { protocolOf } from "#git/protocol.ts";
import { serveSession } from "#ssh/session.ts";
import { withServices } from "./services.ts";
import type { Terminal } from "./terminal.ts";

/** Serves one git session over stdin and stdout, for a key that sshd has verified. */
export async function gitSession(args: string[], terminal: Terminal) {
  const { values } = parseArgs({ args, options: { key: { type: "string" } } });
  if (values.key === undefined) throw new Error("git-session needs --key");
  const { command, protocol, address } = readSshRequest(terminal.env);
  const asked = { fingerprint: values.key, command, protocol: protocolOf(protocol), address };
  const gone = new AbortController();
  for (const signal of ["SIGHUP", "SIGTERM", "SIGINT"] as const) process.once(signal, () => gone.abort());
  process.stdout.once("error", () => gone.abort());
  const wire = {
    input: process.stdin,
    output: process.stdout,
    showLine: terminal.printAside,
  };
  const code = await withServices(terminal, (services) => serveSession(services, asked, wire, gone.signal));
  // A client that keeps sending must not keep the process alive.
  process.stdin.destroy();
  return code;
}
