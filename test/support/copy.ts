import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");

/** A copy of the repository with one commit, to try changes in. */
export interface Copy {
  readonly path: string;
  /** Runs a program of the copy with the Node.js that runs this one, and returns its output. */
  run(...args: string[]): Promise<string>;
  /** The files that differ from the repository, the untracked ones included. */
  changed(): string[];
  remove(): void;
}

export function copyRepository(): Copy {
  const path = mkdtempSync(join(tmpdir(), "fairlead-copy-"));
  for (const file of git(root, "ls-files", "-z").split("\0").filter(Boolean)) {
    cpSync(join(root, file), join(path, file));
  }
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"));
  git(path, "init", "--quiet");
  git(path, "add", "--all");
  git(path, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message", "Copy");
  return {
    path,
    run: (...args) => run(path, args),
    changed() {
      const lines = git(path, "status", "--porcelain", "--untracked-files=all").split("\n").filter(Boolean);
      return lines.map((line) => line.slice(3)).toSorted();
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

async function run(cwd: string, args: readonly string[]): Promise<string> {
  try {
    // With this variable Node's test runner would treat the child as one of its own processes.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    return (await promisify(execFile)(process.execPath, args, { cwd, env, maxBuffer: 1e8 })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${args.join(" ")}\n${stdout}${stderr}`, { cause: error });
  }
}

function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 1e8 });
}
