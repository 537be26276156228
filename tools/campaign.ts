import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { type Campaign, CAMPAIGNS } from "#test/campaigns.ts";
import { slowness } from "#test/support/machine.ts";
import { indexOf, pageOf, readOutput } from "./campaign/record.ts";

/**
 * `npm run campaign -- [NAME … | all] [--short]`: runs campaigns one after another, goes on after a failure, and writes
 * what each found to `docs/verification/`. Without a name it lists them.
 */
const root = join(import.meta.dirname, "..");
const pages = join(root, "docs/verification");
const outputs = join(tmpdir(), "fairlead-campaigns");
/** A campaign that takes so many times as long as it should hangs. */
const MAX_TIMES_LONGER = 10;
const INTERRUPTIONS = ["SIGINT", "SIGTERM"] as const;
/** With more than this beside a campaign its times mean little. */
const MAX_LOAD = 0.5;

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { short: { type: "boolean", default: false } },
});
const size = values.short ? "short" : "full";
const unknown = names.filter((name) => name !== "all" && !CAMPAIGNS.some((campaign) => campaign.name === name));
const chosen = CAMPAIGNS.filter(({ name }) => names.includes("all") || names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no campaign ${unknown.join(", ")}; npm run campaign lists them`);
  process.exitCode = 2;
} else if (chosen.length === 0) listAll();
else await runAll();

function listAll() {
  for (const { name, shows, minutes } of CAMPAIGNS)
    console.log(
      `${name.padEnd(20)} ${`${minutes.full} min`.padStart(8)} ${`${minutes.short} min`.padStart(7)}  ${shows}`,
    );
  const sum = (of: "full" | "short") => CAMPAIGNS.reduce((minutes, campaign) => minutes + campaign.minutes[of], 0);
  console.log(
    `${"all".padEnd(20)} ${`${sum("full")} min`.padStart(8)} ${`${sum("short")} min`.padStart(7)}  with --short the right column`,
  );
}

async function runAll() {
  mkdirSync(pages, { recursive: true });
  mkdirSync(outputs, { recursive: true });
  for (const campaign of chosen) if (!(await run(campaign))) process.exitCode = 1;
}

async function run(campaign: Campaign): Promise<boolean> {
  const [load = 0] = loadavg();
  if (load > MAX_LOAD) console.log(`the load of this machine is ${load.toFixed(1)}: times will be too long`);
  const began = performance.now();
  const { output, exitCode } = await outputOf(campaign);
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const found = readOutput(output, exitCode, campaign.figures);
  const file = join(outputs, `${campaign.name}.log`);
  writeFileSync(file, output);
  const options = campaign[size] === "" ? "" : ` -- ${campaign[size]}`;
  const command = `\`npm run ${campaign.script}${options}\``;
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(
    join(pages, `${campaign.name}.md`),
    pageOf(campaign, { ...found, command, commit: commit(), date, minutes, machine: machine(load) }),
  );
  const all = readdirSync(pages).map(
    (name) => [name.replace(/\.md$/, ""), readFileSync(join(pages, name), "utf8")] as const,
  );
  writeFileSync(join(pages, "README.md"), indexOf(CAMPAIGNS, new Map(all)));
  const mark = found.failed === 0 ? "✔" : "✖";
  console.log(`${mark} ${campaign.name}: ${found.passed} passed, ${found.failed} failed in ${minutes} min; ${file}`);
  return found.failed === 0;
}

/** Runs the script of a campaign to its end, or stops it and what it started if it hangs. */
async function outputOf({ script, minutes, ...campaign }: Campaign) {
  const options = campaign[size].split(" ").filter((word) => word !== "");
  const child = spawn("npm", ["run", "--silent", script, "--", ...options], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const stop = () => child.pid && process.kill(-child.pid, "SIGKILL");
  const hang = setTimeout(stop, minutes[size] * 60_000 * MAX_TIMES_LONGER);
  // It is in a process group of its own, which a terminal does not interrupt.
  const interrupt = () => {
    stop();
    process.exit(130);
  };
  for (const signal of INTERRUPTIONS) process.once(signal, interrupt);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const [exitCode] = (await once(child, "close")) as [number | null];
  clearTimeout(hang);
  for (const signal of INTERRUPTIONS) process.off(signal, interrupt);
  return { output: stripVTControlCharacters(output), exitCode };
}

function commit(): string {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--", ".", ":!docs/verification");
  return `${git("rev-parse", "--short=10", "HEAD")}${changed === "" ? "" : " with changes"}`;
}

function machine(load: number): string {
  const slower = slowness().toFixed(2);
  return `${availableParallelism()} cores, ${slower} times as slow as the reference, load before ${load.toFixed(1)}`;
}
