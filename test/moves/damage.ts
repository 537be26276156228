import { execFile } from "node:child_process";
import { chmodSync, existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "#test/support/until.ts";
import { hasEnded, makeWorld, problemsOf, pushedProject, pushOrThrow, type World } from "./world.ts";

const run = promisify(execFile);
const REPOSITORY_BYTES = 30_000_000;

/** A full disk and a flipped byte: the move fails with the reason, and the source is as it was. */
export async function runDamage(): Promise<{ passed: number; problems: string[] }> {
  const world = await makeWorld();
  const problems: string[] = [];
  let passed = 0;
  const expect = async (name: string, reason: RegExp, work: (project: Pushed["project"]) => Promise<() => unknown>) => {
    const { project, refs } = await pushedProject(world, name, REPOSITORY_BYTES);
    const [source = ""] = world.copiesOf(project);
    const undo = await work(project);
    const before = await digestOf(source);
    await world.schedule(project, "three");
    const ended = await until(name, async () => {
      const placement = await world.placementOf(project);
      return hasEnded(placement) && placement;
    });
    const after = await digestOf(source);
    await undo();
    const found: string[] = [];
    if (ended.state !== "failed" || !reason.test(ended.error_message ?? "")) {
      found.push(`the move is ${ended.state}: ${ended.error_message}`);
    }
    if (before !== after) found.push("the source has changed");
    const [id = ""] = await world.client.commits(`${name} after`, 1);
    await pushOrThrow(world, project, "refs/heads/after", id).catch((error: unknown) => found.push(String(error)));
    await until("one copy", async () => world.copiesOf(project).length === 1);
    found.push(...(await problemsOf(world, project, new Map([...refs, ["refs/heads/after", id]]))));
    console.log(`${name}: ${ended.error_message}`);
    problems.push(...found.map((problem) => `${name}: ${problem}`));
    if (found.length === 0) passed++;
  };
  try {
    await expect("flipped byte", /wrong checksum/, async (project) => {
      const [pack = ""] = globSync(join(world.copiesOf(project)[0] ?? "", "objects/pack/*.pack"));
      const bytes = readFileSync(pack);
      const flipped = Buffer.from(bytes);
      flipped[Math.floor(bytes.length / 2)]! ^= 1;
      chmodSync(pack, 0o600);
      writeFileSync(pack, flipped);
      return () => writeFileSync(pack, bytes);
    });
    const full = join(world.root, "three");
    await mkdir(full, { recursive: true });
    if (await mount(full)) {
      try {
        await expect("too small a disk", /has [\d.]+ MiB free, but the repository takes [\d.]+ MiB/, async () => {
          writeFileSync(join(full, "filler"), Buffer.alloc(40_000_000));
          return () => run("rm", [join(full, "filler")]);
        });
        await expect("a disk that fills up", /no space left on the storage three/, async () => {
          void fillLater(world, full);
          return () => run("rm", ["-f", join(full, "filler")]);
        });
      } finally {
        await run("umount", ["--lazy", full]);
      }
    } else console.log("a full disk: not measured, since this user may not mount a file system");
  } finally {
    await world.close();
  }
  return { passed, problems };
}

type Pushed = Awaited<ReturnType<typeof pushedProject>>;

const mount = (directory: string) =>
  run("mount", ["-t", "tmpfs", "-o", "size=48m,mode=777", "tmpfs", directory]).then(
    () => true,
    () => false,
  );

/** Takes what is left of the disk as soon as a copy has begun. */
async function fillLater({ root }: World, directory: string) {
  const begun = () => globSync(join(root, "three/tmp/*/objects/pack/*")).length > 0;
  await until("the copy has begun", async () => begun() && existsSync(directory), 60_000, 1);
  try {
    writeFileSync(join(directory, "filler"), Buffer.alloc(48_000_000));
  } catch {
    // It is full, as it should be.
  }
}

async function digestOf(directory: string): Promise<string> {
  const command = `cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum`;
  return (await run("sh", ["-c", command, "sh", directory])).stdout;
}
