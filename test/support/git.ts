import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface GitEnded {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

interface GitOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
}

const LIMIT = 120_000;

/** The git of a client: it knows nothing of the machine's settings and never asks anybody. */
const CLIENT = {
  PATH: process.env["PATH"] ?? "/usr/bin:/bin",
  HOME: "/nonexistent",
  LANG: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "true",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com",
};

export async function git(args: readonly string[], { cwd, env, input }: GitOptions): Promise<GitEnded> {
  const child = spawn("git", args, { cwd, env: { ...CLIENT, ...env }, stdio: "pipe", timeout: LIMIT });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
  const [code] = (await once(child, "close")) as [number | null];
  return { stdout, stderr, code };
}

/** Runs git and gives what it wrote, without the last line feed; a git that fails fails the test. */
export async function gitOutput(args: readonly string[], options: GitOptions): Promise<string> {
  const { stdout, stderr, code } = await git(args, options);
  if (code !== 0) throw new Error(`git ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout.replace(/\n$/, "");
}

/** A directory of a person with one commit on `main`; it is removed with `removeWorkingCopies`. */
export async function workingCopy(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "fairlead-copy-"));
  made.push(directory);
  await gitOutput(["init", "--quiet", "--initial-branch=main"], { cwd: directory });
  await writeFile(join(directory, "README.md"), "# Harbour\n");
  await gitOutput(["add", "."], { cwd: directory });
  await gitOutput(["commit", "--quiet", "--message=Begin"], { cwd: directory });
  return directory;
}

const made: string[] = [];

export async function removeWorkingCopies() {
  for (const directory of made.splice(0)) await rm(directory, { recursive: true, force: true });
}
