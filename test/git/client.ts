import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runAfterExit } from "#test/faults/supervisor.ts";
import { git, gitOutput } from "#test/support/git.ts";

/** What a client knows of a ref it pushed; without a report it may have changed or not. */
export type Outcome = "done" | "refused" | "unknown";

export interface Change {
  /** The full ref. */
  readonly ref: string;
  readonly id: string;
}

export interface PushResult {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly output: string;
  readonly code: number | null;
}

interface PushOptions {
  readonly atomic?: boolean;
  readonly force?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly options?: readonly string[];
}

/** A bare repository to push from; its commits are imported without a working tree. */
export interface Client extends AsyncDisposable {
  readonly directory: string;
  /** Creates a chain of commits, each with a file of its own, on top of `parent`. */
  commits(label: string, count: number, options?: { parent?: string; bytes?: number }): Promise<string[]>;
  /** Creates a commit on top of each parent, a first commit if it is undefined. */
  commitsOn(label: string, parents: readonly (string | undefined)[], bytes?: number): Promise<string[]>;
  push(address: string, changes: readonly Change[], options?: PushOptions): Promise<PushResult>;
}

export async function newClient(): Promise<Client> {
  const directory = await mkdtemp(join(tmpdir(), "fairlead-client-"));
  runAfterExit('rm -rf "$1"', directory);
  await gitOutput(["init", "--quiet", "--bare", "--initial-branch=main"], { cwd: directory });
  let imported = 0;
  return {
    directory,
    commits(label, count, { parent, bytes } = {}) {
      const name = `refs/imported/${++imported}`;
      const parents = Array.from({ length: count }, (_, n) => (n === 0 ? parent : undefined));
      return importCommits(
        directory,
        parents.map((each, n) => ({ name, label: `${label} ${n + 1}`, parent: each })),
        bytes,
      );
    },
    commitsOn(label, parents, bytes) {
      const batch = ++imported;
      return importCommits(
        directory,
        parents.map((parent, n) => ({ name: `refs/imported/${batch}-${n}`, label: `${label} ${n + 1}`, parent })),
        bytes,
      );
    },
    async push(address, changes, { atomic = false, force = false, env = {}, options = [] } = {}) {
      const flags = [...(atomic ? ["--atomic"] : []), ...(force ? ["--force"] : []), ...options];
      const specs = changes.map(({ ref, id }) => `${id}:${ref}`);
      const args = ["push", "--porcelain", ...flags, address, ...specs];
      const { stdout, stderr, code } = await git(args, { cwd: directory, env });
      return { outcomes: outcomesOf(stdout, changes), output: `${stdout}${stderr}`, code };
    },
    async [Symbol.asyncDispose]() {
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface ImportedCommit {
  /** Commits with the same ref form a chain. */
  readonly name: string;
  readonly label: string;
  readonly parent: string | undefined;
}

async function importCommits(cwd: string, commits: readonly ImportedCommit[], bytes = 100): Promise<string[]> {
  const parts = commits.flatMap(({ name, label, parent }, n) => {
    const content = contentOf(label, bytes);
    const from = parent === undefined ? "" : `from ${parent}\n`;
    return [
      `commit ${name}\nmark :${n + 1}\ncommitter Ada <ada@example.com> ${1_700_000_000 + n} +0000\n`,
      `data ${Buffer.byteLength(label)}\n${label}\n${from}M 644 inline ${label.replaceAll(/\W/g, "-")}.bin\n`,
      `data ${content.length}\n`,
      content,
      "\n",
    ];
  });
  const queries = commits.map((_, n) => `get-mark :${n + 1}\n`);
  const input = Buffer.concat([...parts, ...queries].map((part) => Buffer.from(part as string)));
  const args = ["fast-import", "--quiet", "--force", "--cat-blob-fd=1"];
  const { stdout, stderr, code } = await git(args, { cwd, input });
  const ids = stdout.trim().split("\n");
  if (code !== 0 || ids.length !== commits.length) throw new Error(`git fast-import ended with ${code}: ${stderr}`);
  return ids;
}

/** Parses lines such as `*\tsource:refs/heads/main\t[new branch]`; a ref without a report is unknown. */
function outcomesOf(porcelain: string, changes: readonly Change[]): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>(changes.map(({ ref }) => [ref, "unknown"]));
  for (const [, flag, ref = "", summary = ""] of porcelain.matchAll(/^([ +*=!-])\t[^\t\n]*:([^\t\n]+)\t(.*)$/gm)) {
    if (flag !== "!") outcomes.set(ref, "done");
    else if (!summary.startsWith("[remote failure]")) outcomes.set(ref, "refused");
  }
  return outcomes;
}

/** Random content, which does not compress. */
const contentOf = (label: string, length: number): Buffer =>
  Buffer.concat([Buffer.from(`${label}\n`), randomBytes(length)]);
