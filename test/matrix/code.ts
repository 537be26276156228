import { createHash, randomUUID } from "node:crypto";
import { cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { collect } from "#git/process.ts";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { ZERO_ID } from "#git/refs.ts";
import { projectRepository } from "#git/storages/storage.ts";
import type { Services } from "#services.ts";
import type { CodeChild, More } from "./line.ts";
import type { Owner } from "./model.ts";

/** The code of all projects that have some: one repository, copied. */
export interface Code {
  /** Creates the repositories of projects. */
  fill(projectIds: readonly number[]): Promise<void>;
  /** The name of an object in this repository, or of one that only another project has. */
  nameOf(child: CodeChild, owner: Owner): string | undefined;
  /** The request body of git when it fetches everything, or pushes a new branch. */
  bodyOf(service: NonNullable<More["body"]>): Buffer;
}

type Names = Readonly<Record<CodeChild, string>>;

export const isCodeChild = (child: string): child is CodeChild =>
  ["branch", "tag", "commit", "blob", "file"].includes(child);

/** Three of everything that a list shows: commits, their authors, and files and refs of the last of them. */
const streamOf = (word: string) => {
  const commit = (author: string, ...files: string[]) => `commit refs/heads/main
committer ${author} <${author}@example.com> 1700000000 +0000
data 4
Work
${files.map((file) => `M 100644 inline ${file}.md\ndata ${word.length}\n${word}\n`).join("")}
`;
  const refs = (...names: string[]) => names.map((name) => `reset ${name}\nfrom refs/heads/main\n\n`).join("");
  return [
    commit("ada", word),
    refs(`refs/heads/${word}`, `refs/tags/${word}`),
    commit("bob", `${word}-2`),
    commit("cleo", `${word}-3`, `${word}-4`, `${word}-5`),
    refs(`refs/heads/${word}-2`, `refs/heads/${word}-3`, `refs/tags/${word}-2`, `refs/tags/${word}-3`),
    "done\n",
  ].join("");
};

export async function makeCode(services: Services, otherProject: number): Promise<Code> {
  const storage = services.git.storage("default");
  const directoryOf = (id: number) => join(services.config.dataDir, "repositories", `${projectRepository(id)}.git`);

  async function write(id: number, word: string): Promise<Names> {
    const repository = storage.repository(projectRepository(id));
    await repository.create("main");
    const input = streamOf(word);
    const importing = await repository.run({ command: "fast-import", options: ["--quiet", "--done"], input });
    await collect(importing.output);
    await importing.ended;
    const idOf = async (name: string) => (await repository.objects.info(name))?.id ?? "";
    const [commit, blob] = [await idOf("refs/heads/main"), await idOf(`refs/heads/main:${word}.md`)];
    return { branch: word, tag: word, file: `${word}.md`, commit, blob };
  }

  const own = await write(0, "here");
  const foreign = await write(otherProject, "elsewhere");
  const template = directoryOf(0);
  return {
    async fill(projectIds) {
      await Promise.all(
        projectIds.map(directoryOf).map(async (directory) => {
          await mkdir(dirname(directory), { recursive: true });
          await cp(template, directory, { recursive: true });
        }),
      );
    },
    nameOf: (child, owner) => (owner === "own" ? own[child] : owner === "foreign" ? foreign[child] : undefined),
    bodyOf: (service) => (service === "git-upload-pack" ? fetchOf(own.commit) : pushOf(own.commit)),
  };
}

const fetchOf = (commit: string) => Buffer.concat([packet(`want ${commit}\n`), FLUSH, packet("done\n")]);

function pushOf(commit: string): Buffer {
  const change = packet(`${ZERO_ID} ${commit} refs/heads/w${randomUUID()}\0 report-status`);
  // A pack of version 2 without objects.
  const header = Buffer.from("5041434b0000000200000000", "hex");
  return Buffer.concat([change, FLUSH, header, createHash("sha1").update(header).digest()]);
}
