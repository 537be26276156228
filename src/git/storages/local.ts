import { createHash, randomUUID } from "node:crypto";
import { rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { batchPool, type BatchPool } from "#git/objects/batch.ts";
import { collect, type GitCall, type GitProcesses } from "#git/process.ts";
import { isRefName } from "#git/refs.ts";
import { gitSettings } from "#git/settings.ts";
import { IDLE_BATCHES_PER_STORAGE } from "#git/slots.ts";
import type { Consumer } from "#lib/consumer.ts";
import { ensureDirectory, mustBeWritable } from "#lib/directories.ts";
import { copyRepository } from "./copy.ts";
import { finish, type Local, temporaryPath } from "./directory.ts";
import {
  createDirectory,
  directoriesIn,
  renameIfExists,
  renameUnlessTaken,
  sizeOf,
  statIfExists,
  syncTree,
} from "./files.ts";
import { plumbingArguments, slotOf } from "./plumbing.ts";
import {
  type PackCall,
  type PlumbingCall,
  type PushRules,
  type Repository,
  type RepositoryName,
  type Running,
  type Storage,
} from "./storage.ts";

const SHORT_TIMEOUT_MS = 30_000;
/** A transfer lasts as long as the client's connection needs. */
const TRANSFER_TIMEOUT_MS = 2 * 3_600_000;
const MAINTENANCE_TIMEOUT_MS = 6 * 3_600_000;
const IDLE_BATCH_MS = 15_000;
const WEEK_MS = 7 * 24 * 3_600_000;

interface LocalStorageOptions {
  readonly name: string;
  readonly directory: string;
  readonly processes: GitProcesses;
  /** The largest pack that a push may send. */
  readonly maxPackBytes: number;
}

/** A storage in a directory of this machine. */
export function localStorage(options: LocalStorageOptions): Storage {
  const settings = gitSettings(options);
  const batches = batchPool({ maxIdle: IDLE_BATCHES_PER_STORAGE, idleMs: IDLE_BATCH_MS });
  return {
    name: options.name,
    repository: (name, consumer) => localRepository(options, settings, batches, name, consumer),
    probe: () => mustBeWritable(join(options.directory, "tmp")),
    async space() {
      const { bavail, blocks, bsize } = await statfs(options.directory);
      return { free_bytes: bavail * bsize, total_bytes: blocks * bsize };
    },
    async identity() {
      const { dev, ino } = await stat(options.directory, { bigint: true });
      return `${dev}:${ino}`;
    },
    async prepare() {
      await ensureDirectory(options.directory);
      const file = join(options.directory, "tmp", randomUUID());
      await createDirectory(dirname(file), options.directory);
      await writeFile(file, "");
      await rm(file);
    },
    async *repositories() {
      for await (const first of directoriesIn(join(options.directory, "@hashed"))) {
        for await (const second of directoriesIn(join(options.directory, "@hashed", first))) {
          for await (const file of directoriesIn(join(options.directory, "@hashed", first, second))) {
            if (file.endsWith(".git")) yield `@hashed/${first}/${second}/${file.slice(0, -".git".length)}`;
          }
        }
      }
    },
  };
}

/** The directories behind the handles of this process, for copies from one storage to another. */
const directories = new WeakMap<Repository, Local>();

function localRepository(
  { name: storage, directory: root, processes }: LocalStorageOptions,
  settings: Readonly<Record<string, string>>,
  batches: BatchPool,
  name: RepositoryName,
  consumer: Consumer | undefined,
): Repository {
  const directory = join(root, `${name}.git`);
  const start = (call: GitCall) => processes.start({ consumer, ...call, env: { ...settings, ...call.env } });
  const run = (call: PlumbingCall): Promise<Running> =>
    start({
      args: ["--literal-pathspecs", `--git-dir=${directory}`, ...plumbingArguments(call)],
      input: call.input,
      interactive: call.interactive,
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? SHORT_TIMEOUT_MS,
      slot: slotOf(call),
    });
  const local: Local = { storage, root, directory, start, run };
  const repository: Repository = {
    name,
    storage,
    run,
    objects: batches.of({ name, run }),
    exists: () => exists(local),
    create: (defaultBranch, firstCommit) => create(local, defaultBranch, firstCommit),
    remove: () => remove(local),
    async setHead(branch) {
      const git = await run({ command: "symbolic-ref", values: ["HEAD", `refs/heads/${branch}`] });
      await git.ended;
    },
    maintain: ({ signal } = {}) => maintain(local, signal),
    unlock: (refs) => unlock(local, refs),
    size: () => sizeOf(directory),
    refsChecksum: () => refsChecksum(local),
    uploadPack: (call) => servePack(local, "upload-pack", call),
    receivePack(call) {
      if (call.mode === "advertise") return servePack(local, "receive-pack", call);
      const { confirm, rules } = call;
      const bytes = rules.maxInputBytes;
      const options = bytes === undefined ? [] : ["-c", `receive.maxInputSize=${bytes}`];
      return servePack(local, "receive-pack", call, { options, env: rulesForHook(rules), confirm });
    },
    async copyFrom(source, call) {
      const from = directories.get(source);
      if (!from) throw new TypeError("A repository is copied only from a directory");
      await copyRepository(from, local, call);
    },
  };
  directories.set(repository, local);
  return repository;
}

const PACK_MODES: Readonly<Record<PackCall["mode"], readonly string[]>> = {
  advertise: ["--stateless-rpc", "--http-backend-info-refs"],
  "advertise session": ["--http-backend-info-refs"],
  stateless: ["--stateless-rpc"],
  session: [],
};

/** The environment of the `pre-receive` hook; a ref name contains no line feed. */
const rulesForHook = ({ forwardOnly }: PushRules) => ({ FAIRLEAD_FORWARD_ONLY: forwardOnly.join("\n") });

function servePack(
  { directory, start }: Local,
  service: string,
  { mode, protocol, signal }: PackCall,
  { options = [], env = {}, confirm }: Pick<GitCall, "env" | "confirm"> & { readonly options?: readonly string[] } = {},
): Promise<Running> {
  const advertises = mode === "advertise" || mode === "advertise session";
  return start({
    args: [...options, service, ...PACK_MODES[mode], directory],
    env: { ...env, ...(protocol && { GIT_PROTOCOL: protocol }) },
    confirm,
    interactive: !advertises,
    signal,
    slot: advertises ? "short" : "transfer",
    timeoutMs: advertises ? SHORT_TIMEOUT_MS : TRANSFER_TIMEOUT_MS,
  });
}

const exists = async ({ directory }: Local) => (await statIfExists(directory)) !== undefined;

async function create(local: Local, defaultBranch: string, firstCommit?: string) {
  if (await exists(local)) return;
  const { root, directory } = local;
  const created = temporaryPath(local);
  await createDirectory(dirname(created), root);
  await createDirectory(dirname(directory), root);
  const call = { slot: "short", timeoutMs: SHORT_TIMEOUT_MS } as const;
  try {
    const args = ["init", "--quiet", "--bare", "--template=", `--initial-branch=${defaultBranch}`, created];
    await finish(local, { ...call, args });
    if (firstCommit !== undefined) {
      await finish(local, { ...call, args: [`--git-dir=${created}`, "fast-import", "--quiet"], input: firstCommit });
    }
    await syncTree(created);
    await renameUnlessTaken(created, directory);
  } finally {
    await rm(created, { recursive: true, force: true });
  }
}

/** Atomic: it disappears as a whole, and its files are deleted afterwards. */
async function remove(local: Local) {
  const removed = temporaryPath(local);
  await createDirectory(dirname(removed), local.root);
  if (await renameIfExists(local.directory, removed)) await rm(removed, { recursive: true, force: true });
}

/** A file in the repository whose mtime is its last full repack. */
const PACKED = "fairlead-packed";
/** A push in progress may still use unreachable objects. */
const UNREACHABLE_TTL = "2.weeks.ago";
/** One pack of all reachable objects, and a cruft pack of the others. */
const FULL_REPACK = ["-a", "--cruft", `--cruft-expiration=${UNREACHABLE_TTL}`];
/** Merges small packs geometrically and writes one multi-pack index with a bitmap. */
const INCREMENTAL_REPACK = ["--geometric=2", "--write-midx"];

async function maintain(local: Local, signal: AbortSignal | undefined) {
  const { directory } = local;
  const git = (...args: string[]) =>
    finish(local, {
      args: [`--git-dir=${directory}`, ...args],
      slot: "maintenance",
      timeoutMs: MAINTENANCE_TIMEOUT_MS,
      signal,
    });
  const packed = join(directory, PACKED);
  const isFull = Date.now() - ((await statIfExists(packed))?.mtimeMs ?? 0) > WEEK_MS;
  await git("pack-refs", "--all");
  await git("repack", "-d", "-l", "-q", "--write-bitmap-index", ...(isFull ? FULL_REPACK : INCREMENTAL_REPACK));
  const split = isFull ? "--split=replace" : "--split";
  await git("commit-graph", "write", "--no-progress", "--reachable", "--changed-paths", split);
  if (!isFull) return;
  // Removes what killed pushes left behind.
  await git("prune", `--expire=${UNREACHABLE_TTL}`);
  await writeFile(packed, "");
}

/** Git holds a lock while it changes refs, which takes minutes if they are many. */
const MAX_LOCK_AGE_MS = 600_000;

async function unlock({ directory }: Local, refs: readonly string[]) {
  for (const name of [...refs.filter(isRefName), "packed-refs", "HEAD"]) {
    const lock = join(directory, `${name}.lock`);
    const age = Date.now() - ((await statIfExists(lock))?.mtimeMs ?? Infinity);
    if (age > MAX_LOCK_AGE_MS) await rm(lock, { force: true });
  }
}

async function refsChecksum({ run }: Local): Promise<string> {
  const digest = createHash("sha256");
  const head = await run({ command: "symbolic-ref", options: ["HEAD"] });
  digest.update(await collect(head.output));
  await head.ended;
  const refs = await run({ command: "for-each-ref", options: ["--format=%(objectname) %(refname)"] });
  for await (const chunk of refs.output) digest.update(chunk as Buffer);
  await refs.ended;
  return digest.digest("hex");
}
