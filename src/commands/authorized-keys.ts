import { join } from "node:path";
import { parseArgs } from "node:util";
import { addressIn } from "#lib/networks.ts";
import { readSshKey } from "#lib/ssh-keys.ts";
import type { Services } from "#services.ts";
import { authenticateKey } from "#ssh/key-holder.ts";
import { withServices } from "./services.ts";
import type { Terminal } from "./terminal.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/fairlead");

/** The AuthorizedKeysCommand of sshd: prints the line of a known key and nothing for any other. */
export async function authorizedKeys(args: string[], terminal: Terminal) {
  const { values, positionals } = parseArgs({
    args,
    options: { program: { type: "string", default: PROGRAM }, connection: { type: "string" } },
    allowPositionals: true,
  });
  const [kind = "", blob = "", ...others] = positionals;
  if (blob === "" || others.length > 0) throw new Error("authorized-keys needs the type of a key and its base64");
  if (!/^\/[\w./@+-]+$/.test(values.program)) throw new Error("--program must be a plain absolute path");
  const fingerprint = await withServices(terminal, (services) =>
    fingerprintOf(services, `${kind} ${blob}`, values.connection),
  );
  if (fingerprint === undefined) return;
  terminal.print(`command="${values.program} git-session --key ${fingerprint}",restrict ${kind} ${blob}`);
}

/** The fingerprint of a key that opens something; any other is a refused sign-in. */
async function fingerprintOf(services: Services, line: string, connection = ""): Promise<string | undefined> {
  const reading = readSshKey(line);
  const fingerprint = "key" in reading ? reading.key.fingerprintSha256 : "";
  const authentication = await authenticateKey(services, fingerprint);
  if ("holder" in authentication) return fingerprint;
  const { kind, problem: reason } = authentication;
  services.reportRefusedSignIn({ kind, reason, ip: addressIn(connection.split(" ", 1)[0] ?? "") });
  return undefined;
}
