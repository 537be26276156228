import { spawn } from "node:child_process";
import { createCipheriv, hash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { progress } from "./figures.ts";
import { run } from "./processes.ts";

/** A repository that is the same in every run. */
export interface Recipe {
  readonly name: string;
  readonly objects: number;
  readonly refs: number;
  /** What `git fast-import` is told. */
  text(): Iterable<Buffer>;
}

const COMMITS = 6_000;
/** Commits change six files, and so many of them a seventh, which makes the number of objects. */
const LARGER_COMMITS = 781;
const TAGS = 1_000;
const DIRECTORIES = 60;
const FILES = 40;
/** Bytes that a version of a file is made of; it is their hex, and about as long as they are when packed. */
const MIN_OBJECTS = 2_600;
const MAX_OBJECTS = 6_650;

/** 91,562 objects in a pack of 195 MiB: 6,000 commits, a branch and 1,000 tags. */
export const history: Recipe = {
  name: "history",
  objects: 91_562,
  refs: TAGS + 1,
  *text() {
    const bytes = keystream();
    const largerUntil = (commit: number) => Math.floor((commit * LARGER_COMMITS) / COMMITS);
    for (let n = 0; n < COMMITS; n++) {
      yield commit(n);
      const first = bytes(2).readUInt16BE();
      for (let k = 0; k < 6 + largerUntil(n + 1) - largerUntil(n); k++) {
        const content = bytes(MIN_OBJECTS + (bytes(2).readUInt16BE() % (MAX_OBJECTS - MIN_OBJECTS)));
        const lines = content.toString("hex").replaceAll(/.{64}/g, "$&\n");
        const name = `src/part-${(first + k) % DIRECTORIES}/file-${bytes(1).readUInt8() % FILES}.txt`;
        yield file(name, Buffer.from(lines, "latin1"));
      }
      if (n >= COMMITS - TAGS) yield Buffer.from(`reset refs/tags/v${n - COMMITS + TAGS}\nfrom :${n + 1}\n\n`);
    }
  },
};

const BLOBS = 50;
const BLOB_BYTES = 4_000_000;

/** 50 files of 4 MB that cannot be made smaller, so that hardly anything but the way there costs time. */
export const blobs: Recipe = {
  name: "blobs",
  objects: BLOBS + 2,
  refs: 1,
  *text() {
    const bytes = keystream();
    yield commit(0);
    for (let n = 0; n < BLOBS; n++) yield file(`blob-${n}.bin`, bytes(BLOB_BYTES));
  },
};

/** 256 files of 4 MB that cannot be made smaller: a pack of one GiB. */
export const gigabyte: Recipe = {
  name: "gigabyte",
  objects: 256 + 2,
  refs: 1,
  *text() {
    const bytes = keystream();
    yield commit(0);
    for (let n = 0; n < 256; n++) yield file(`blob-${n}.bin`, bytes(2 ** 22));
  },
};

function commit(n: number): Buffer {
  const message = `Change ${n}`;
  const committer = `committer A Bench <bench@example.com> ${1_700_000_000 + n * 600} +0000`;
  return Buffer.from(`commit refs/heads/main\nmark :${n + 1}\n${committer}\ndata ${message.length}\n${message}\n`);
}

const file = (name: string, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`M 644 inline ${name}\ndata ${content.length}\n`), content, Buffer.from("\n")]);

/** Bytes without a pattern, and the same ones each time. */
function keystream(): (length: number) => Buffer {
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, 7), Buffer.alloc(16));
  return (length) => cipher.update(Buffer.alloc(length));
}

/** The directory of a bare repository, which is kept between runs and made anew once its recipe has changed. */
export async function keptRepository(recipe: Recipe): Promise<string> {
  const kept = join(tmpdir(), "fairlead-bench-data", `repository-${recipe.name}`);
  const repository = join(kept, "repository.git");
  const mark = join(kept, "made-from");
  const wanted = hash("sha256", readFileSync(import.meta.filename), "hex");
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return repository;
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(kept, { recursive: true });
  progress(`Making the repository '${recipe.name}', kept in ${kept}`);
  await run("git", ["init", "--quiet", "--bare", "--initial-branch=main", repository]);
  await importInto(repository, recipe);
  const { objects, refs, megabytes } = await sizeOf(repository);
  if (objects !== recipe.objects || refs !== recipe.refs) {
    throw new Error(`The repository '${recipe.name}' came out with ${objects} objects and ${refs} refs`);
  }
  progress(`${objects} objects and ${refs} refs in ${megabytes} MiB`);
  writeFileSync(mark, wanted);
  return repository;
}

async function importInto(repository: string, { text }: Recipe) {
  const args = ["-C", repository, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"];
  const child = spawn("git", args, { stdio: ["pipe", "ignore", "inherit"] });
  const ended = once(child, "close") as Promise<[number | null]>;
  await pipeline(Readable.from(text()), child.stdin);
  const [code] = await ended;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
}

async function sizeOf(repository: string) {
  const counted = await run("git", ["-C", repository, "count-objects", "-v"]);
  const figure = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(counted)?.[1]);
  const refs = (await run("git", ["-C", repository, "for-each-ref"])).trimEnd().split("\n").length;
  return { objects: figure("in-pack") + figure("count"), refs, megabytes: Math.round(figure("size-pack") / 1024) };
}
