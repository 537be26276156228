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

const RUN_TIMEOUT_MS = 600_000;

/** The environment of a git client without the machine's settings, which never prompts. */
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
  const child = spawn("git", args, { cwd, env: { ...CLIENT, ...env }, stdio: "pipe", timeout: RUN_TIMEOUT_MS });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
  const [code] = (await once(child, "close")) as [number | null];
  return { stdout, stderr, code };
}

/** Runs git and returns its output without the last line feed; fails if git fails. */
export async function gitOutput(args: readonly string[], options: GitOptions): Promise<string> {
  const { stdout, stderr, code } = await git(args, options);
  if (code !== 0) throw new Error(`git ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout.replace(/\n$/, "");
}

/** A working copy with one commit on `main`; `removeWorkingCopies` removes it. */
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
