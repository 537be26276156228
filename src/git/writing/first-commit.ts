import { hash } from "node:crypto";
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
  const blob = Buffer.from(objectId("blob", Buffer.from(readme)), "hex");
  const tree = objectId("tree", Buffer.concat([Buffer.from(`100644 ${README}\0`), blob]));
  const commit = `tree ${tree}\nauthor ${by}\ncommitter ${by}\n\n${FIRST_COMMIT_TITLE}\n`;
  const stream = `commit refs/heads/${branch}
author ${by}
committer ${by}
${data(`${FIRST_COMMIT_TITLE}\n`)}
M 100644 inline ${README}
${data(readme)}
`;
  return { stream, id: objectId("commit", Buffer.from(commit)) };
}

const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}`;

const objectId = (type: string, bytes: Buffer) =>
  hash("sha1", Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]), "hex");
