import { hash } from "node:crypto";
import { type Person, signatureLine, signedAt } from "./people.ts";

interface Beginning {
  readonly branch: string;
  readonly readme: string;
  readonly author: Person;
  readonly at: Date;
}

/** What it is called, everywhere that it is told of. */
export const FIRST_TITLE = "Initial commit";
export const README = "README.md";

/** A first commit, as `git fast-import` is told it and with the id that it will have, whenever that is done. */
export function beginning({ branch, readme, author, at }: Beginning): { readonly text: string; readonly id: string } {
  const by = signatureLine(signedAt(author, at));
  const blob = Buffer.from(objectId("blob", Buffer.from(readme)), "hex");
  const tree = objectId("tree", Buffer.concat([Buffer.from(`100644 ${README}\0`), blob]));
  const commit = `tree ${tree}\nauthor ${by}\ncommitter ${by}\n\n${FIRST_TITLE}\n`;
  const text = `commit refs/heads/${branch}
author ${by}
committer ${by}
${data(`${FIRST_TITLE}\n`)}
M 100644 inline ${README}
${data(readme)}
`;
  return { text, id: objectId("commit", Buffer.from(commit)) };
}

const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}`;

const objectId = (type: string, bytes: Buffer) =>
  hash("sha1", Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]), "hex");
