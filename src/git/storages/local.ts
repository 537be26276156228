import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, opendir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { keepBatches, type KeptBatches } from "#git/objects/batch.ts";
import { collect, type GitCall, type GitProcesses } from "#git/process.ts";
import { isRefName } from "#git/refs.ts";
import { gitSettings } from "#git/settings.ts";
import { IDLE_BATCHES_PER_STORAGE } from "#git/slots.ts";
import type { Consumer } from "#lib/consumer.ts";
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

const SHORT = 30_000;
/** A transfer lasts as long as the client's line needs. */
const TRANSFER = 2 * 3_600_000;
const MAINTENANCE = 6 * 3_600_000;
const IDLE_BATCH_MS = 15_000;
const WEEK = 7 * 24 * 3_600_000;

interface Place {
  readonly name: string;
  readonly directory: string;
  readonly processes: GitProcesses;
  /** Bytes of the largest pack that a push may send. */
  readonly maxPack: number;
}

/** A storage that is a directory of this machine. */
export function localStorage(place: Place): Storage {
  const settings = gitSettings(place);
  const batches = keepBatches({ kept: IDLE_BATCHES_PER_STORAGE, idle: IDLE_BATCH_MS });
  return {
    name: place.name,
    repository: (name, consumer) => localRepository(place, settings, batches, name, consumer),
    async probe() {
      const file = join(place.directory, "tmp", randomUUID());
      await makeDirectory(dirname(file), place.directory);
      await writeFile(file, "");
      await rm(file);
    },
    async *repositories() {
      for await (const first of namesIn(join(place.directory, "@hashed"))) {
        for await (const second of namesIn(join(place.directory, "@hashed", first))) {
          for await (const file of namesIn(join(place.directory, "@hashed", first, second))) {
            if (file.endsWith(".git")) yield `@hashed/${first}/${second}/${file.slice(0, -".git".length)}`;
          }
        }
      }
    },
  };
}

function localRepository(
  { name: storage, directory: root, processes }: Place,
  settings: Readonly<Record<string, string>>,
  batches: KeptBatches,
  name: RepositoryName,
  consumer: Consumer | undefined,
): Repository {
  const directory = join(root, `${name}.git`);
  const aside = () => join(root, "tmp", randomUUID());
  const exists = async () => (await found(directory)) !== undefined;
  const start = (call: GitCall) => processes.start({ consumer, ...call, env: { ...settings, ...call.env } });
  const finished = async (args: readonly string[], call: Omit<GitCall, "args">) => {
    const git = await start({ ...call, args });
    git.output.resume();
    await git.ended;
  };

  function servePack(
    service: string,
    { mode, protocol, signal }: PackCall,
    { env = {}, confirm }: Pick<GitCall, "env" | "confirm"> = {},
    settings: readonly string[] = [],
  ) {
    const advertises = mode === "advertise" || mode === "advertise session";
    return start({
      args: [...settings, service, ...PACK_MODES[mode], directory],
      env: { ...env, ...(protocol && { GIT_PROTOCOL: protocol }) },
      confirm,
      asked: !advertises,
      signal,
      slot: advertises ? "short" : "transfer",
      timeout: advertises ? SHORT : TRANSFER,
    });
  }

  const run = (call: PlumbingCall): Promise<Running> =>
    start({
      args: ["--literal-pathspecs", `--git-dir=${directory}`, ...plumbingArguments(call)],
      input: call.input,
      asked: call.asked,
      signal: call.signal,
      timeout: call.timeout ?? SHORT,
      slot: slotOf(call),
    });

  return {
    name,
    storage,
    exists,
    run,
    objects: batches.of({ name, run }),
    uploadPack: (call) => servePack("upload-pack", call),
    receivePack(call) {
      if (call.mode === "advertise") return servePack("receive-pack", call);
      const { confirm, rules } = call;
      const bytes = rules.maxInputBytes;
      const settings = bytes === undefined ? [] : ["-c", `receive.maxInputSize=${bytes}`];
      return servePack("receive-pack", call, { env: rulesForHook(rules), confirm }, settings);
    },

    async create(defaultBranch, beginning) {
      if (await exists()) return;
      const made = aside();
      await makeDirectory(dirname(made), root);
      await makeDirectory(dirname(directory), root);
      try {
        await finished(["init", "--quiet", "--bare", "--template=", `--initial-branch=${defaultBranch}`, made], {
          slot: "short",
          timeout: SHORT,
        });
        if (beginning !== undefined) {
          const options = { slot: "short", timeout: SHORT, input: beginning } as const;
          await finished([`--git-dir=${made}`, "fast-import", "--quiet"], options);
        }
        await syncTree(made);
        await renameUnlessThere(made, directory);
        await sync(dirname(directory));
      } finally {
        await rm(made, { recursive: true, force: true });
      }
    },

    async remove() {
      const gone = aside();
      await makeDirectory(dirname(gone), root);
      try {
        // At once for whoever asks; its files go afterwards.
        await rename(directory, gone);
        await sync(dirname(directory));
      } catch (error) {
        if (!hasCode(error, "ENOENT")) throw error;
      }
      await rm(gone, { recursive: true, force: true });
    },

    async setHead(branch) {
      await (
        await run({ command: "symbolic-ref", values: ["HEAD", `refs/heads/${branch}`] })
      ).ended;
    },

    async maintain({ signal } = {}) {
      const git = (...args: string[]) =>
        finished([`--git-dir=${directory}`, ...args], { slot: "maintenance", timeout: MAINTENANCE, signal });
      const packed = join(directory, PACKED);
      const whole = Date.now() - ((await found(packed))?.mtimeMs ?? 0) > WEEK;
      await git("pack-refs", "--all");
      await git("repack", "-d", "-l", "-q", "--write-bitmap-index", ...(whole ? PACK_WHOLE : PACK_NEW));
      const split = whole ? "--split=replace" : "--split";
      await git("commit-graph", "write", "--no-progress", "--reachable", "--changed-paths", split);
      if (!whole) return;
      // What a push that was killed left behind.
      await git("prune", `--expire=${KEPT_FOR}`);
      await writeFile(packed, "");
    },

    async unlock(refs) {
      for (const name of [...refs.filter(isRefName), "packed-refs", "HEAD"]) {
        const lock = join(directory, `${name}.lock`);
        const age = Date.now() - ((await found(lock))?.mtimeMs ?? Infinity);
        if (age > LONGEST_LOCK) await rm(lock, { force: true });
      }
    },

    async size() {
      let bytes = 0;
      for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
        // A repack may have removed it meanwhile.
        if (entry.isFile()) bytes += (await found(join(entry.parentPath, entry.name)))?.size ?? 0;
      }
      return bytes;
    },

    async refsChecksum() {
      const digest = createHash("sha256");
      const head = await run({ command: "symbolic-ref", options: ["HEAD"] });
      digest.update(await collect(head.output));
      await head.ended;
      const refs = await run({ command: "for-each-ref", options: ["--format=%(objectname) %(refname)"] });
      for await (const chunk of refs.output) digest.update(chunk as Buffer);
      await refs.ended;
      return digest.digest("hex");
    },
  };
}

/** Milliseconds. Git holds a lock while it changes refs, which takes minutes where they are many. */
const LONGEST_LOCK = 600_000;
/** A file in the repository that says when it was last packed as a whole. */
const PACKED = "fairlead-packed";
/** What nothing leads to may be what a push in flight is about to use. */
const KEPT_FOR = "2.weeks.ago";
/** One pack of everything, and one of what nothing leads to. */
const PACK_WHOLE = ["-a", "--cruft", `--cruft-expiration=${KEPT_FOR}`];
/** New packs into larger ones, the largest left alone, and one index and bitmap over all of them. */
const PACK_NEW = ["--geometric=2", "--write-midx"];

const PACK_MODES: Readonly<Record<PackCall["mode"], readonly string[]>> = {
  advertise: ["--stateless-rpc", "--http-backend-info-refs"],
  "advertise session": ["--http-backend-info-refs"],
  stateless: ["--stateless-rpc"],
  session: [],
};

/** What the hook `pre-receive` reads; no name of a ref holds a line feed. */
const rulesForHook = ({ forwardOnly }: PushRules) => ({ FAIRLEAD_FORWARD_ONLY: forwardOnly.join("\n") });

async function* namesIn(directory: string): AsyncIterable<string> {
  try {
    for await (const entry of await opendir(directory)) if (entry.isDirectory()) yield entry.name;
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

const hasCode = (error: unknown, ...codes: string[]) =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));

async function found(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ENAMETOOLONG")) return undefined;
    throw error;
  }
}

async function renameUnlessThere(from: string, to: string) {
  try {
    await rename(from, to);
  } catch (error) {
    if (!hasCode(error, "ENOTEMPTY", "EEXIST")) throw error;
  }
}

/** Makes a directory and those around it up to the root, so that a power cut does not take them back. */
async function makeDirectory(directory: string, root: string) {
  const first = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let at = directory; at.length >= root.length; at = dirname(at)) await sync(dirname(at));
}

async function sync(path: string) {
  await using file = await open(path, "r");
  await file.sync();
}

async function syncTree(directory: string) {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    await sync(join(entry.parentPath, entry.name));
  }
  await sync(directory);
}
