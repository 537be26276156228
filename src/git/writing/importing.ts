import { once } from "node:events";
import type { Signature } from "#git/objects/commits.ts";
import { explained } from "#git/objects/output.ts";
import type { Repository, Running } from "#git/storages/storage.ts";
import { signatureLine } from "./people.ts";

/** What stands at a path of a commit. */
export interface Entry {
  /** `100644`, `100755`, `120000` a symbolic link, `160000` a submodule, `040000` a directory. */
  readonly mode: string;
  readonly id: string;
}

/** A path as it shall be: another content, what another path had, or nothing. An empty path is all of the tree. */
export type Change =
  | { readonly path: string; readonly mode: string; readonly content: Buffer }
  | { readonly path: string; readonly mode: string; readonly id: string }
  | { readonly path: string; readonly mode: undefined };

export interface NewCommit {
  /** The full id of its parent; undefined makes the first commit of a history. */
  readonly parent: string | undefined;
  readonly message: string;
  readonly author: Signature;
  readonly committer: Signature;
  readonly changes: readonly Change[];
}

/** The one process that looks at a commit and makes the next one, so that neither costs another. */
export interface Importer {
  /** What stands at paths of a commit, told by its full id, and at the directories on the way to them. */
  look(commit: string, paths: readonly string[]): Promise<ReadonlyMap<string, Entry>>;
  /** Writes a commit and all it needs, and gives its id. No ref leads to it yet. */
  write(commit: NewCommit): Promise<string>;
}

export const FILE = "100644";
export const EXECUTABLE = "100755";
export const DIRECTORY = "040000";

/** The branch that fast-import wants for a commit; it is forgotten again before any ref would be written. */
const NO_BRANCH = "refs/fairlead/new";

/** Runs `work` with an importer. Where it throws or writes nothing, the repository stays as it was. */
export async function importing<T>(repository: Repository, work: (importer: Importer) => Promise<T>): Promise<T> {
  const git = await repository.run({ command: "fast-import", options: ["--quiet", "--done"], asked: true });
  const answers = linesOf(git);
  /** What was written here, by its id: until the end it can only be found by its mark. */
  const marks = new Map<string, string>();
  const importer: Importer = {
    async look(commit, paths) {
      const found = new Map<string, Entry>();
      let steps = paths.map((path) => ({ path, at: partOf(path, "") }));
      while (steps.length > 0) {
        const asked = [...new Set(steps.map(({ at }) => at))];
        await tell(git, asked.map((path) => `ls ${commit} ${quoted(path)}\n`).join(""));
        for (const path of asked) {
          const entry = entryOf(await answers());
          if (entry) found.set(path, entry);
        }
        // Only a directory has something behind it.
        steps = steps
          .filter(({ path, at }) => at !== path && found.get(at)?.mode === DIRECTORY)
          .map(({ path, at }) => ({ path, at: partOf(path, at) }));
      }
      return found;
    },

    async write(commit) {
      const mark = `:${marks.size + 1}`;
      const parent = commit.parent && (marks.get(commit.parent) ?? commit.parent);
      await tell(git, Buffer.concat([...inWords({ ...commit, parent }, mark)]));
      const id = await answers();
      marks.set(id, mark);
      return id;
    },
  };
  try {
    return await work(importer);
  } finally {
    // Told to end, it leaves nothing behind; a git that is stopped leaves half a pack.
    git.input.end("done\n");
    await git.ended.catch((error: unknown) => {
      throw explained(error);
    });
  }
}

/** The path up to the part behind a directory, or all of it. */
function partOf(path: string, directory: string): string {
  const end = path.indexOf("/", directory === "" ? 0 : directory.length + 1);
  return end === -1 ? path : path.slice(0, end);
}

/** Text between quotes as git reads it: of all that a path may hold here, only these two mean something else there. */
const quoted = (path: string) => `"${path.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

const entryOf = (answer: string): Entry | undefined => {
  const { mode, id } = /^(?<mode>\d{6}) \w+ (?<id>[0-9a-f]{40})\t/.exec(answer)?.groups ?? {};
  return mode === undefined || id === undefined ? undefined : { mode: knownMode(mode), id };
};

/** Old programs wrote other rights; git itself knows only whether a file can be run. */
const knownMode = (mode: string) =>
  mode.startsWith("100") ? ((Number.parseInt(mode, 8) & 0o100) === 0 ? FILE : EXECUTABLE) : mode;

function* inWords({ parent, message, author, committer, changes }: NewCommit, mark: string): Generator<Buffer> {
  yield Buffer.from(`commit ${NO_BRANCH}\nmark ${mark}\nauthor ${signatureLine(author)}\n`);
  yield Buffer.from(`committer ${signatureLine(committer)}\n`);
  yield* data(Buffer.from(message));
  if (parent !== undefined) yield Buffer.from(`from ${parent}\n`);
  // What goes makes place: a directory may come where a file was.
  for (const { path, mode } of changes) if (mode === undefined) yield Buffer.from(`D ${quoted(path)}\n`);
  for (const change of changes) {
    if (change.mode === undefined) continue;
    const { mode, path } = change;
    yield Buffer.from(`M ${mode} ${"id" in change ? change.id : "inline"} ${quoted(path)}\n`);
    if ("content" in change) yield* data(change.content);
  }
  yield Buffer.from(`\nget-mark ${mark}\nreset ${NO_BRANCH}\n\n`);
}

function* data(bytes: Buffer): Generator<Buffer> {
  yield Buffer.from(`data ${bytes.length}\n`);
  yield bytes;
  yield Buffer.from("\n");
}

async function tell({ input, ended }: Running, words: string | Buffer) {
  if (!input.write(words)) await Promise.race([once(input, "drain").catch(() => ended), ended]);
}

/** Answers line by line. They are taken in as they come: a git that cannot get rid of one would hear no more. */
function linesOf({ output, ended }: Running): () => Promise<string> {
  const lines: string[] = [];
  let rest = "";
  let arrived = Promise.withResolvers<void>();
  output.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    arrived.resolve();
    arrived = Promise.withResolvers<void>();
  });
  const over = ended.then(() => {
    throw new Error("git fast-import ended without an answer");
  });
  over.catch(() => {});
  let next = 0;
  return async () => {
    while (next === lines.length) await Promise.race([arrived.promise, over]);
    return lines[next++] ?? "";
  };
}
