import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type Installation, type Project, startInstallation } from "./installation.ts";
import { BOMBS, bombOf, deltaBomb, pushPack } from "./packs.ts";

const MAX_PACK_BYTES = 8 * 2 ** 20;
/** Megabytes that all git processes of the server may hold together. */
const MAX_MEGABYTES = 400;
const MAX_DURATION_MS = 120_000;

describe("malformed packs", () => {
  let installation: Installation;
  let project: Project;
  before(async () => {
    installation = await startInstallation({ FAIRLEAD_GIT_MAX_PACK: String(MAX_PACK_BYTES) });
    project = await installation.createProject("Packs");
  });
  after(() => installation.close());

  /** Pushes a pack and judges the memory of git and the time that it took. */
  async function judge(pack: Buffer, id: string) {
    const { pid } = installation.server();
    let most = 0;
    const looking = setInterval(() => (most = Math.max(most, megabytesOfChildren(pid))), 10);
    const from = performance.now();
    const { status, text } = await pushPack(installation, project, pack, id).finally(() => clearInterval(looking));
    const took = performance.now() - from;
    assert.ok(status < 500, String(status));
    assert.doesNotMatch(text, /ok refs/);
    assert.ok(most < MAX_MEGABYTES, `git held ${Math.round(most)} MB`);
    assert.ok(took < MAX_DURATION_MS, `it took ${Math.round(took)} ms`);
  }

  for (const [what, type] of Object.entries(BOMBS)) {
    test(`${what} of more than a gigabyte stays within the memory limit`, async () => {
      await judge(await bombOf(type), "1".repeat(40));
    });
  }

  test("a delta chain that expands 60 kilobytes to a gigabyte is refused before it is expanded", async () => {
    const { pack, id } = deltaBomb(2, 150);
    await judge(pack, id);
  });
});

/** The memory of all descendants of a process, in megabytes. */
function megabytesOfChildren(parent: number): number {
  const found = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, "latin1");
        const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
        return [{ pid: Number(name), parent: Number(fields[1]), pages: Number(fields[21]) }];
      } catch {
        return [];
      }
    });
  const below = (pid: number): number =>
    found.filter((each) => each.parent === pid).reduce((sum, each) => sum + each.pages + below(each.pid), 0);
  return (below(parent) * 4096) / 2 ** 20;
}
