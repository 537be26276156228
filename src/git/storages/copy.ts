import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { collect } from "#git/process.ts";
import { createDirectory, renameUnlessTaken, statIfExists, syncTree } from "./files.ts";
import { finish, type Local, temporaryPath } from "./directory.ts";
import { type CopyCall, CopyFailed, GitFailed } from "./storage.ts";

/** Packing on the source may replace files while they are copied; then the copy begins anew. */
const MAX_ROUNDS = 3;
const GIT_TIMEOUT_MS = 6 * 3_600_000;
const CHUNK_BYTES = 512 * 1024;
const CHECKSUM_BYTES = 20;

/** Files of git that end with a checksum of what comes before. */
const WITH_CHECKSUM =
  /^objects\/(?:pack\/(?:pack-[0-9a-f]{40}\.(?:pack|idx|rev|bitmap|mtimes)|multi-pack-index(?:-[0-9a-f]{40}\.(?:bitmap|rev))?)|info\/commit-graphs\/graph-[0-9a-f]{40}\.graph)$/;
/** Files that say how well it is packed; without them the copy would be packed again. */
const WITHOUT_CHECKSUM: ReadonlySet<string> = new Set([
  "objects/info/commit-graphs/commit-graph-chain",
  "fairlead-packed",
]);

/** Copies packs as files and loose objects as a pack, then the refs, and verifies all of it. */
export async function copyRepository(source: Local, target: Local, call: CopyCall) {
  const created = temporaryPath(target);
  await createDirectory(dirname(created), target.root);
  try {
    await copyObjects(source, target, created, call);
    await copyRefs(source, target, created, call.signal);
    await verifyConnected(source, target, created, call.signal);
    await syncTree(created);
    call.signal.throwIfAborted();
    await createDirectory(dirname(target.directory), target.root);
    await renameUnlessTaken(created, target.directory);
  } finally {
    await rm(created, { recursive: true, force: true });
  }
}

/** What a repository consists of beside its refs. */
interface Contents {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  /** The ids of the objects that are in no pack. */
  readonly loose: readonly string[];
}

async function contentsOf({ directory }: Local): Promise<Contents> {
  const files: { path: string; size: number }[] = [];
  const loose: string[] = [];
  const entries = await readdir(join(directory, "objects"), { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of [...paths.map((path) => path.slice(directory.length + 1)), "fairlead-packed"].toSorted()) {
    const [, start, rest] = /^objects\/([0-9a-f]{2})\/([0-9a-f]{38})$/.exec(path) ?? [];
    if (start !== undefined && rest !== undefined) loose.push(start + rest);
    if (!WITH_CHECKSUM.test(path) && !WITHOUT_CHECKSUM.has(path)) continue;
    const found = await statIfExists(join(directory, path));
    if (found) files.push({ path, size: found.size });
  }
  return { files, loose };
}

const isSame = (one: Contents, other: Contents) => JSON.stringify(one) === JSON.stringify(other);

async function copyObjects(source: Local, target: Local, created: string, call: CopyCall) {
  for (let round = 1; ; round++) {
    const contents = await contentsOf(source);
    await requireSpace(target, contents);
    await initialize(source, target, created);
    const failure = await copyContents(source, target, created, contents, call).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    call.signal.throwIfAborted();
    const unchanged = isSame(contents, await contentsOf(source));
    if (unchanged && failure) throw failure.error;
    if (unchanged) return;
    if (round === MAX_ROUNDS) throw new CopyFailed("The repository is being packed. Please try again later.");
    await rm(created, { recursive: true, force: true });
  }
}

async function requireSpace({ root, storage }: Local, { files }: Contents) {
  const needed = files.reduce((sum, { size }) => sum + size, 0);
  const { bavail, bsize } = await statfs(root);
  if (bavail * bsize > needed) return;
  throw new CopyFailed(
    `The storage ${storage} has ${megabytes(bavail * bsize)} free, but the repository takes ${megabytes(needed)}`,
  );
}

const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

async function initialize(source: Local, target: Local, created: string) {
  const head = await source.run({ command: "symbolic-ref", options: ["HEAD"] });
  const [ref] = await Promise.all([collect(head.output), head.ended]);
  const call = { slot: "short", timeoutMs: 30_000 } as const;
  await finish(target, { ...call, args: ["init", "--quiet", "--bare", "--template=", created] });
  const args = [`--git-dir=${created}`, "symbolic-ref", "HEAD", ref.toString().trim()];
  await finish(target, { ...call, args });
}

async function copyContents(
  source: Local,
  target: Local,
  created: string,
  { files, loose }: Contents,
  { signal, onProgress }: CopyCall,
) {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let bytes = 0;
  onProgress(bytes, total);
  for (const { path } of files) {
    await mkdir(dirname(join(created, path)), { recursive: true, mode: 0o700 });
    const counted = (length: number) => onProgress((bytes += length), total);
    const verified = WITH_CHECKSUM.test(path) ? verifying(source, path, counted) : counting(counted);
    const input = createReadStream(join(source.directory, path), { highWaterMark: CHUNK_BYTES, signal });
    await pipeline(input, verified, createWriteStream(join(created, path), { mode: 0o600 }));
  }
  if (loose.length > 0) await copyLoose(source, target, created, loose, signal);
}

const counting = (counted: (length: number) => void) =>
  async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      counted(chunk.length);
      yield chunk;
    }
  };

/** Passes a file on, and throws at its end if it is not what git wrote: neither its refs nor their objects would tell. */
function verifying({ storage }: Local, path: string, counted: (length: number) => void) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    const hash = createHash("sha1");
    let last: Buffer = Buffer.alloc(0);
    for await (const chunk of chunks) {
      counted(chunk.length);
      const rest = last.length + chunk.length - CHECKSUM_BYTES;
      if (chunk.length >= CHECKSUM_BYTES) {
        hash.update(last).update(chunk.subarray(0, -CHECKSUM_BYTES));
        last = Buffer.from(chunk.subarray(-CHECKSUM_BYTES));
      } else {
        const all = Buffer.concat([last, chunk]);
        hash.update(all.subarray(0, Math.max(rest, 0)));
        last = all.subarray(Math.max(rest, 0));
      }
      yield chunk;
    }
    if (hash.digest().equals(last)) return;
    throw new CopyFailed(`A file of the repository on ${storage} is damaged: ${basename(path)} has a wrong checksum`);
  };
}

/** Git computes the ids of these objects from what arrives, so a damaged one is missing afterwards. */
async function copyLoose(source: Local, target: Local, created: string, ids: readonly string[], signal: AbortSignal) {
  const common = { slot: "maintenance", timeoutMs: GIT_TIMEOUT_MS, signal } as const;
  const packing = await source.start({
    ...common,
    args: [`--git-dir=${source.directory}`, "pack-objects", "--stdout", "-q", "--window=0"],
    input: `${ids.join("\n")}\n`,
  });
  const indexing = await target.start({
    ...common,
    args: [`--git-dir=${created}`, "index-pack", "--stdin"],
    interactive: true,
  });
  indexing.output.resume();
  await pipeline(packing.output, indexing.input).catch(() => {});
  const [packed] = await Promise.allSettled([packing.ended, indexing.ended]);
  if (packed.status === "rejected") throw damaged(source, packed.reason);
  await indexing.ended;
}

/** Writes all refs to one file, which git then puts in its order: thousands would be as many files to make durable. */
async function copyRefs(source: Local, target: Local, created: string, signal: AbortSignal) {
  const common = { slot: "maintenance", timeoutMs: GIT_TIMEOUT_MS, signal } as const;
  const refs = await source.start({
    ...common,
    args: [`--git-dir=${source.directory}`, "for-each-ref", "--format=%(objectname) %(refname)"],
  });
  await pipeline(refs.output, createWriteStream(join(created, "packed-refs"), { mode: 0o600 }));
  await refs.ended;
  const { size } = await stat(join(created, "packed-refs"));
  if (size === 0) await rm(join(created, "packed-refs"));
  else await finish(target, { ...common, args: [`--git-dir=${created}`, "pack-refs", "--all"] });
}

/** Follows every ref to all of its objects. */
async function verifyConnected(source: Local, target: Local, created: string, signal: AbortSignal) {
  const args = [`--git-dir=${created}`, "rev-list", "--objects", "--all", "--quiet"];
  try {
    await finish(target, { args, slot: "maintenance", timeoutMs: GIT_TIMEOUT_MS, signal });
  } catch (error) {
    throw damaged(source, error);
  }
}

function damaged({ storage }: Local, error: unknown) {
  const isDamaged = error instanceof GitFailed && !error.outOfMemory && error.exitCode !== null;
  if (!isDamaged || /No space left/.test(error.stderr)) return error;
  const text = `The repository on ${storage} is damaged: objects are missing or cannot be read. Run git fsck on it.`;
  return new CopyFailed(text, { cause: error });
}
