import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { cpuTimeOf } from "#test/support/cpu.ts";
import { lock, makePerson, OTHER_PASSWORD, tryToSignIn } from "./test-support.ts";

describe("lock-out", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  test("the response time is the same for an unknown, locked or passwordless account", async () => {
    const known = await makePerson(app);
    const locked = await makePerson(app);
    await lock(app, locked.id);
    const without = await app.makeUser();
    const logins = [known.username, "nobody-of-that-name", locked.username, without.username];
    const times = logins.map(() => [] as number[]);
    const rounds = 15;
    for (let round = 0; round < rounds; round++) {
      // Ten wrong passwords in a row would lock it.
      await app.services.db.write.updateTable("users").set({ failed_attempts: 0 }).where("id", "=", known.id).execute();
      for (const [index, login] of logins.entries()) {
        const spent = await cpuTimeOf(async () =>
          assert.equal((await tryToSignIn(app, login, OTHER_PASSWORD)).status, 401),
        );
        times[index]?.push(spent);
      }
    }
    // Almost all of the time is that of the hash; the least is the one with the least garbage to collect.
    const [first = 0, ...others] = times.map((values) => Math.min(...values));
    for (const [index, other] of others.entries()) {
      const ratio = other / first;
      // Without the dummy hash the ratio would be a fifth.
      assert.ok(ratio > 0.6 && ratio < 1.6, `${logins[index + 1]}: ${other} ms against ${first} ms`);
    }
  });
});
