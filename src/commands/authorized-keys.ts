import { join } from "node:path";
import { parseArgs } from "node:util";
import { readSshKey } from "#lib/ssh-keys.ts";
import { comingWith } from "#ssh/callers.ts";
import { print } from "./output.ts";
import { withServices } from "./services.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/fairlead");

/** What sshd asks by AuthorizedKeysCommand: the line of a key that may come in, and nothing for any other. */
export async function authorizedKeys(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    options: { program: { type: "string", default: PROGRAM } },
    allowPositionals: true,
  });
  const [kind = "", blob = "", ...others] = positionals;
  if (blob === "" || others.length > 0) throw new Error("authorized-keys needs the type of a key and its base64");
  if (!/^\/[\w./@+-]+$/.test(values.program)) throw new Error("--program must be a plain absolute path");
  const reading = readSshKey(`${kind} ${blob}`);
  if ("problem" in reading) return;
  const { fingerprintSha256 } = reading.key;
  const coming = await withServices((services) => comingWith(services, fingerprintSha256));
  if ("problem" in coming) return;
  print(`command="${values.program} git-session --key ${fingerprintSha256}",restrict ${kind} ${blob}`);
}
