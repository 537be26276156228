import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { gitOutput } from "./git.ts";

/**
 * Repositories that are cheap to push and expensive to read. Each function creates one in an empty directory: bare,
 * with the branch `main`, ready for `git push --mirror URL`.
 */
type Maker = (directory: string) => Promise<void>;

const MEGABYTE = 1_000_000;
const WHO = "Ada Lovelace <ada@example.com>";

/** A history whose messages are a thousand times as large as the pushed pack. */
export async function longMessages(directory: string, { commits = 1_001, bytes = MEGABYTE } = {}) {
  await initialize(directory);
  await importCommits(directory, commits, (n) => ({ message: `Change ${n} ${"x".repeat(bytes)}` }));
}

/** A history with huge author names, which the list of contributors shows. */
export async function longNames(directory: string, { commits = 200, bytes = 500_000 } = {}) {
  await initialize(directory);
  await importCommits(directory, commits, (n) => ({
    message: "Change",
    author: `${"n".repeat(bytes)} <${n}${"e".repeat(bytes)}@example.com>`,
  }));
}

/** Messages of spaces and line feeds only, on which patterns may backtrack. */
export async function blankMessages(directory: string, { commits = 20, bytes = MEGABYTE } = {}) {
  await initialize(directory);
  const blank = "\n \t".repeat(bytes / 3);
  await importCommits(directory, commits, (n) => ({ message: `${n % 2 === 0 ? "" : "x"}${blank}x` }));
}

/** A commit with many parents, all of them the same. */
export async function manyParents(directory: string, { parents = 20_000 } = {}) {
  await initialize(directory);
  const tree = await writeTree(directory, [["100644", "a", await writeBlob(directory, "a\n")]]);
  const roots: string[] = [];
  for (let n = 0; n < 2; n++) roots.push(await writeCommit(directory, tree, `Root ${n}`));
  const lines = Array.from({ length: parents }, (_, n) => `parent ${roots[n % 2]}\n`).join("");
  const text = `tree ${tree}\n${lines}author ${WHO} 1700000000 +0000\ncommitter ${WHO} 1700000000 +0000\n\nMany\n`;
  await setBranch(directory, await writeObject(directory, "commit", text));
}

/** A directory with many files. */
export async function wideTree(directory: string, { entries = 480_000 } = {}) {
  await initialize(directory);
  const blob = await writeBlob(directory, "x\n");
  const names = Array.from({ length: entries }, (_, n) => n.toString(36).padStart(5, "0"));
  const wide = await writeTree(
    directory,
    names.toSorted().map((name) => ["100644", name, blob]),
  );
  await setBranch(directory, await writeCommit(directory, wide, "Wide"));
}

/** Nested directories, each ten times the same one: ten to the power of `depth` files. */
export async function endlessTree(directory: string, { depth = 12 } = {}) {
  await initialize(directory);
  let [mode, id] = ["100644", await writeBlob(directory, "x\n")];
  for (let level = 0; level < depth; level++) {
    const entries = Array.from({ length: 10 }, (_, n): Entry => [mode, String(n), id]);
    [mode, id] = ["40000", await writeTree(directory, entries)];
  }
  await setBranch(directory, await writeCommit(directory, id, "Endless"));
}

/** A file whose name is nearly the whole push. */
export const hugeName: Maker = (directory) => namesOf(directory, { names: 1, bytes: 200 * MEGABYTE });

/** Files with names that are too long for any request. */
export const longFileNames: Maker = (directory) => namesOf(directory, { names: 250, bytes: 60_000 });

export async function namesOf(directory: string, { names, bytes }: { names: number; bytes: number }) {
  await initialize(directory);
  const blob = await writeBlob(directory, "x\n");
  const entries = Array.from({ length: names }, (_, n): Entry => [
    "100644",
    `${String(n).padStart(6, "0")}${"n".repeat(bytes)}`,
    blob,
  ]);
  await setBranch(directory, await writeCommit(directory, await writeTree(directory, entries), "Names"));
}

/** Two versions of a file that compresses well and have no line in common. */
export async function hugeDiff(directory: string, { bytes = 45 * MEGABYTE } = {}) {
  await initialize(directory);
  await importCommits(directory, 2, (n) => ({
    message: `Version ${n}`,
    files: { "table.txt": (n % 2 === 0 ? "a\n" : "b\n").repeat(bytes / 2) },
  }));
}

/** A small file that was large in an earlier commit, with which blame compares it. */
export async function hugeAncestor(directory: string, { bytes = 45 * MEGABYTE } = {}) {
  await initialize(directory);
  await importCommits(directory, 2, (n) => ({
    message: `Version ${n}`,
    files: { "table.txt": n === 0 ? "a\n".repeat(bytes / 2) : "b\n".repeat(100_000) },
  }));
}

/** Files whose lines alternate between two commits, or are each from another commit. */
export async function heavyBlame(directory: string, { lines = 260_000, commits = 1_500, bytes = 100_000 } = {}) {
  await initialize(directory);
  const turns = Array.from({ length: lines }, (_, n) => `${n % 10}\n`);
  const each = Array.from({ length: commits }, (_, n) => `first ${n}\n`);
  await importCommits(directory, commits, (n) => {
    each[n] = `second ${n}\n`;
    const deep = each.join("");
    const message = `Change line ${n}\n\n${"x".repeat(bytes)}`;
    if (n > 1) return { message, files: { "deep.txt": deep } };
    return {
      message,
      files: { "deep.txt": deep, "turns.txt": turns.map((line) => (n === 0 ? line : `${line}x\n`)).join("") },
    };
  });
}

/** Tags with long messages, and very many branches. */
export async function manyRefs(directory: string, { tags = 200, bytes = MEGABYTE, branches = 20_000 } = {}) {
  await initialize(directory);
  await importCommits(directory, 1, () => ({ message: "Begin" }));
  await fastImport(directory, tagsOf(tags, bytes));
  const id = await gitOutput(["rev-parse", "refs/heads/main"], { cwd: directory });
  const names = Array.from({ length: branches }, (_, n) => `refs/heads/branch-${String(n).padStart(6, "0")}`);
  const refs = await gitOutput(["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"], { cwd: directory });
  const packed = [...names.map((name) => `${id} ${name}`), ...refs.split("\n").filter(Boolean), ""];
  // One packed file instead of a file for each ref.
  await writeFile(join(directory, "packed-refs"), packed.join("\n"));
}

function* tagsOf(tags: number, bytes: number): Stream {
  for (let n = 0; n < tags; n++) {
    const message = `Version ${n} ${"x".repeat(bytes)}`;
    yield `tag v${n}\nfrom refs/heads/main\ntagger ${WHO} ${1_700_000_000 + n} +0000\n${dataOf(message)}`;
  }
}

export const HOSTILE = {
  "long messages": (directory) => longMessages(directory),
  "long names": (directory) => longNames(directory),
  "blank messages": (directory) => blankMessages(directory),
  "many parents": (directory) => manyParents(directory),
  "a wide tree": (directory) => wideTree(directory),
  "an endless tree": (directory) => endlessTree(directory),
  "a huge name": hugeName,
  "long file names": longFileNames,
  "a huge diff": (directory) => hugeDiff(directory),
  "a huge ancestor": (directory) => hugeAncestor(directory),
  "a heavy blame": (directory) => heavyBlame(directory),
  "many refs": (directory) => manyRefs(directory),
} as const satisfies Readonly<Record<string, Maker>>;

type Stream = Generator<string>;
type Entry = readonly [mode: string, name: string, id: string];

interface Planned {
  readonly message: string;
  readonly author?: string;
  readonly files?: Readonly<Record<string, string>>;
}

const initialize = (directory: string) =>
  gitOutput(["init", "--quiet", "--bare", "--initial-branch=main"], { cwd: directory });

const setBranch = (directory: string, id: string) =>
  gitOutput(["update-ref", "refs/heads/main", id], { cwd: directory });

const writeBlob = (directory: string, text: string) => writeObject(directory, "blob", text);

const writeTree = (directory: string, entries: readonly Entry[]) =>
  writeObject(
    directory,
    "tree",
    Buffer.concat(entries.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")])),
  );

const writeCommit = (directory: string, tree: string, message: string) =>
  gitOutput(["commit-tree", tree, "-m", message], { cwd: directory });

/** Writes an object literally, even if git considers it invalid. */
const writeObject = (directory: string, type: string, input: string | Buffer) =>
  gitOutput(["hash-object", "-t", type, "-w", "--stdin", "--literally"], { cwd: directory, input });

async function importCommits(directory: string, count: number, plan: (n: number) => Planned) {
  await fastImport(directory, commitsOf(count, plan));
}

function* commitsOf(count: number, plan: (n: number) => Planned): Stream {
  for (let n = 0; n < count; n++) {
    const { message, author = WHO, files = { "log.txt": `${n}\n` } } = plan(n);
    const at = `${1_700_000_000 + n} +0000`;
    yield `commit refs/heads/main\nauthor ${author} ${at}\ncommitter ${WHO} ${at}\n${dataOf(message)}`;
    for (const [path, content] of Object.entries(files)) yield `M 100644 inline ${path}\n${dataOf(content)}`;
    yield "\n";
  }
}

const dataOf = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;

/** Streamed, since the input is far larger than the result. */
async function fastImport(directory: string, stream: Iterable<string>) {
  const child = spawn("git", ["fast-import", "--quiet"], { cwd: directory, stdio: ["pipe", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const closed = once(child, "close");
  await pipeline(Readable.from(stream), child.stdin);
  const [code] = (await closed) as [number | null];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}: ${said}`);
}
