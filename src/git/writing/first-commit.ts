import { hash } from "node:crypto";
import type { Signature } from "#git/objects/commits.ts";
import { type Change, FILE, quoted } from "./fast-import.ts";
import { type Person, signatureLine, signedAt } from "./signatures.ts";

interface FirstCommit {
  readonly branch: string;
  readonly readme: string;
  readonly author: Person;
  readonly at: Date;
}

export const FIRST_COMMIT_TITLE = "Initial commit";
export const README = "README.md";

/** Returns a first commit as a stream for `git fast-import`, and the id that git will give it. */
export function firstCommit({ branch, readme, author, at }: FirstCommit): {
  readonly stream: string;
  readonly id: string;
} {
  const by = signatureLine(signedAt(author, at));
  const content = Buffer.from(readme);
  const blob = Buffer.from(objectId("blob", content), "hex");
  const tree = objectId("tree", Buffer.concat([Buffer.from(`100644 ${README}\0`), blob]));
  const commit = `tree ${tree}\nauthor ${by}\ncommitter ${by}\n\n${FIRST_COMMIT_TITLE}\n`;
  const files = [{ path: README, mode: FILE, content }];
  const stream = streamOfFirstCommit({ branch, author: signedAt(author, at), title: FIRST_COMMIT_TITLE, files });
  return { stream, id: objectId("commit", Buffer.from(commit)) };
}

/** A first commit of some files, as a stream for `git fast-import`. */
export function streamOfFirstCommit({
  branch,
  author,
  title,
  files,
}: {
  readonly branch: string;
  readonly author: Signature;
  readonly title: string;
  readonly files: readonly Change[];
}): string {
  const by = signatureLine(author);
  const added = files.map((file) =>
    "content" in file ? `M ${file.mode} inline ${quoted(file.path)}\n${data(file.content.toString())}\n` : "",
  );
  return `commit refs/heads/${branch}
author ${by}
committer ${by}
${data(`${title}\n`)}
${added.join("")}`;
}

const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}`;

const objectId = (type: string, bytes: Buffer) =>
  hash("sha1", Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]), "hex");
