import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { floodOfHandshakes } from "./handshakes.ts";
import { type Installation, type Project, startInstallation } from "./installation.ts";

describe("hostile use of git over SSH", () => {
  let installation: Installation;
  let project: Project;
  before(async () => {
    installation = await startInstallation();
    await installation.server().sshReady();
    project = await installation.createProject("Harbour", { visibility: "private" });
  });
  after(() => installation.close());

  /** The median time of some reads, one after the other. */
  async function timeOfReads(): Promise<number> {
    const times: number[] = [];
    while (times.length < 21) {
      const from = performance.now();
      await installation.call("GET", `/projects/${project.id}`);
      times.push(performance.now() - from);
    }
    return times.toSorted((a, b) => a - b)[(times.length - 1) / 2] ?? Number.NaN;
  }

  test("a flood of handshakes does not slow others", async () => {
    const idle = await timeOfReads();
    const flood = floodOfHandshakes(installation.sshPort);
    const busy = await timeOfReads();
    flood.end();
    assert.ok(busy < idle + 1_000, `${busy} ms while flooded, ${idle} ms before`);
  });
});
