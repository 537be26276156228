import { once } from "node:events";
import type { Signature } from "#git/objects/commits.ts";
import { explained } from "#git/objects/output.ts";
import type { Repository, Running } from "#git/storages/storage.ts";
import { signatureLine } from "./signatures.ts";

/** The entry at a path of a commit. */
export interface Entry {
  /** `100644`, `100755`, `120000` a symbolic link, `160000` a submodule, `040000` a directory. */
  readonly mode: string;
  readonly id: string;
}

/** The new state of a path: new content, an existing object, or deleted. An empty path is the whole tree. */
export type Change =
  | { readonly path: string; readonly mode: string; readonly content: Buffer }
  | { readonly path: string; readonly mode: string; readonly id: string }
  | { readonly path: string; readonly mode: undefined };

export interface NewCommit {
  /** The full id of its parent; undefined for the first commit of a history. */
  readonly parent: string | undefined;
  readonly message: string;
  readonly author: Signature;
  readonly committer: Signature;
  readonly changes: readonly Change[];
}

/** A `fast-import` process, which both reads commits and writes the next one. */
export interface Importer {
  /** The entries at paths of a commit, and at their parent directories. */
  entriesAt(commit: string, paths: readonly string[]): Promise<ReadonlyMap<string, Entry>>;
  /** Writes a commit and its objects, and returns its id. No ref points to it yet. */
  write(commit: NewCommit): Promise<string>;
}

export const FILE = "100644";
export const EXECUTABLE = "100755";
export const DIRECTORY = "040000";

/** `fast-import` requires a branch for a commit; it is reset before any ref is written. */
const NO_BRANCH = "refs/fairlead/new";

/** Runs `work` with an importer. If it throws or writes nothing, the repository does not change. */
export async function withImporter<T>(repository: Repository, work: (importer: Importer) => Promise<T>): Promise<T> {
  const git = await repository.run({ command: "fast-import", options: ["--quiet", "--done"], interactive: true });
  const nextAnswer = answersOf(git);
  /** The marks of the commits written here, by id: until the process ends they are found only by mark. */
  const marks = new Map<string, string>();
  const importer: Importer = {
    async entriesAt(commit, paths) {
      const found = new Map<string, Entry>();
      let steps = paths.map((path) => ({ path, at: childOn(path, "") }));
      while (steps.length > 0) {
        const queried = [...new Set(steps.map(({ at }) => at))];
        await write(git, queried.map((path) => `ls ${commit} ${quoted(path)}\n`).join(""));
        for (const path of queried) {
          const entry = entryOf(await nextAnswer());
          if (entry) found.set(path, entry);
        }
        // Only a directory has entries below it.
        steps = steps
          .filter(({ path, at }) => at !== path && found.get(at)?.mode === DIRECTORY)
          .map(({ path, at }) => ({ path, at: childOn(path, at) }));
      }
      return found;
    },

    async write(commit) {
      const mark = `:${marks.size + 1}`;
      const parent = commit.parent && (marks.get(commit.parent) ?? commit.parent);
      await write(git, Buffer.concat([...commandsFor({ ...commit, parent }, mark)]));
      const id = await nextAnswer();
      marks.set(id, mark);
      return id;
    },
  };
  try {
    return await work(importer);
  } finally {
    // Ended this way it leaves nothing behind; a killed git leaves a partial pack.
    git.input.end("done\n");
    await git.ended.catch((error: unknown) => {
      throw explained(error);
    });
  }
}

/** The entry of a directory that is on the way to a path. */
function childOn(path: string, directory: string): string {
  const end = path.indexOf("/", directory === "" ? 0 : directory.length + 1);
  return end === -1 ? path : path.slice(0, end);
}

/** Quotes a path for git; of the characters allowed here only these two need an escape. */
export const quoted = (path: string) => `"${path.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

const entryOf = (answer: string): Entry | undefined => {
  const { mode, id } = /^(?<mode>\d{6}) \w+ (?<id>[0-9a-f]{40})\t/.exec(answer)?.groups ?? {};
  return mode === undefined || id === undefined ? undefined : { mode: normalizedMode(mode), id };
};

/** Old programs wrote other permissions; git distinguishes only executable files. */
const normalizedMode = (mode: string) =>
  mode.startsWith("100") ? ((Number.parseInt(mode, 8) & 0o100) === 0 ? FILE : EXECUTABLE) : mode;

/** Returns the commands that write a commit. */
function* commandsFor({ parent, message, author, committer, changes }: NewCommit, mark: string): Generator<Buffer> {
  yield Buffer.from(`commit ${NO_BRANCH}\nmark ${mark}\nauthor ${signatureLine(author)}\n`);
  yield Buffer.from(`committer ${signatureLine(committer)}\n`);
  yield* data(Buffer.from(message));
  if (parent !== undefined) yield Buffer.from(`from ${parent}\n`);
  // Deletions first, because a directory may replace a file.
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

async function write({ input, ended }: Running, commands: string | Buffer) {
  if (!input.write(commands)) await Promise.race([once(input, "drain").catch(() => ended), ended]);
}

/** Returns a reader of answer lines. Output is consumed as it arrives, because git blocks on a full pipe. */
function answersOf({ output, ended }: Running): () => Promise<string> {
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
