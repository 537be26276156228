import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { runProgram } from "./program.ts";

describe("fairlead moves watch", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
  });
  after(() => app.close());

  async function watch(...args: string[]) {
    const [printed, aside]: [string[], string[]] = [[], []];
    const code = await runProgram(["moves", ...args], {
      env: { FAIRLEAD_DATABASE_URL: app.services.databaseUrl, FAIRLEAD_DATA_DIR: app.services.config.dataDir },
      print: (line) => void printed.push(line),
      printAside: (line) => void aside.push(line),
    });
    return { code, printed, aside };
  }

  test("shows each move with its progress and an estimate, and ends when none is left", async () => {
    const { token } = await app.makeUser({ admin: true });
    const none = "Scheduled: 0, moving: 0; in the last 10 minutes 0 moved and 0 failed";
    assert.deepEqual(await watch("watch"), { code: 0, printed: [none], aside: [] });
    const ids = [];
    for (const name of ["cranes", "tugs", "pilots", "buoys"]) {
      const { body } = await app.post("/projects", { token, payload: { name } });
      ids.push((await app.post(`/projects/${body.id}/repository_storage_moves`, { token })).body.id);
    }
    const { write } = app.services.db;
    await sql`update repository_storage_moves
      set state = 'started', started_at = now() - interval '30 s', phase = 'copying', bytes = 1572864, total_bytes = 2097152
      where id = ${ids[0]}`.execute(write);
    await sql`update repository_storage_moves set state = 'finished', started_at = now() where id = ${ids[1]}`.execute(
      write,
    );
    const { printed } = await watch("watch", "--once");
    assert.deepEqual(printed[0]?.split("\n"), [
      "Scheduled: 2, moving: 1; in the last 10 minutes 1 moved and 0 failed, about 20 min left",
      `  move ${ids[0]} of cranes, default -> second: copying [###############-----] 75 % of 2.0 MiB, about 11 s left`,
    ]);

    const watching = watch("watch");
    await sql`update repository_storage_moves set state = 'failed', started_at = now()
      where state in ('scheduled', 'started')`.execute(write);
    assert.equal(
      (await watching).printed.at(-1),
      "Scheduled: 0, moving: 0; in the last 10 minutes 1 moved and 3 failed",
    );
    assert.deepEqual(await watch("look"), {
      ...{ code: 1, printed: [], aside: ["fairlead: usage: fairlead moves watch [--once]"] },
    });
  });
});
