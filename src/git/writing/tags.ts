import type { Signature } from "#git/objects/commits.ts";
import { collect } from "#git/process.ts";
import type { Repository } from "#git/storages/storage.ts";
import { signatureLine } from "./signatures.ts";

export interface NewTag {
  readonly name: string;
  /** The full id of the commit. */
  readonly commit: string;
  readonly message: string;
  readonly tagger: Signature;
}

/** Writes the object of an annotated tag and returns its id. No ref points to it yet. */
export async function writeTag(repository: Repository, { name, commit, message, tagger }: NewTag): Promise<string> {
  const lines = [`object ${commit}`, "type commit", `tag ${name}`, `tagger ${signatureLine(tagger)}`, ""];
  const git = await repository.run({
    command: "hash-object",
    options: ["-t", "tag", "-w", "--stdin"],
    input: `${lines.join("\n")}\n${message.trimEnd()}\n`,
  });
  const [output] = await Promise.all([collect(git.output), git.ended]);
  return output.toString("latin1").trim();
}
