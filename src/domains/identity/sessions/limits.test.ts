import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { testApp } from "#test/support/app.ts";
import { holdMinute } from "#test/support/minute.ts";
import { makePerson, PASSWORD, tryToSignIn } from "./test-support.ts";

describe("rate limit of signing in", () => {
  test("20 attempts a minute from one address, whatever the username, apart from other requests", async () => {
    const app = await testApp({ env: { FAIRLEAD_RATE_LIMITS: "on" } });
    holdMinute(app);
    try {
      const person = await makePerson(app);
      const remoteAddress = "198.51.100.77";
      const ask = (payload: object, token?: string) => app.post("/session", { payload, token, remoteAddress });
      for (let n = 0; n < 10; n++) assert.equal((await ask({ login: `name-${n}` })).status, 400);
      for (let n = 0; n < 9; n++)
        assert.equal((await ask({ login: `name-${n}`, password: "x" }, person.token)).status, 401);
      const last = await ask({ login: person.username, password: PASSWORD });
      assert.equal(last.status, 201);
      assert.equal(last.headers["ratelimit-name"], "throttle_sign_in");
      assert.equal(last.headers["ratelimit-remaining"], "0");
      const refused = await ask({ login: person.username, password: PASSWORD });
      assert.equal(refused.status, 429);
      assert.ok(Number(refused.headers["retry-after"]) >= 1);
      assert.equal((await app.get("/users", { remoteAddress })).status, 200);
      const elsewhere = await tryToSignIn(app, person.username, PASSWORD, { remoteAddress: "198.51.100.78" });
      assert.equal(elsewhere.status, 201);
    } finally {
      await app.close();
    }
  });
});
