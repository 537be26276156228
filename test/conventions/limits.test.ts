import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { shareLimits } from "#limits/shared-counts.ts";
import { type Reply, testApp, type TestApp } from "#test/support/app.ts";
import { holdMinute } from "#test/support/minute.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";

const ON = { FAIRLEAD_RATE_LIMITS: "on" };

/** The application with limits on, for one test. */
async function limited(env: Record<string, string>, work: (app: TestApp, now: number) => Promise<void>) {
  const app = await testApp({ env: { ...ON, ...env } });
  try {
    await work(app, holdMinute(app));
  } finally {
    await app.close();
  }
}

const budgetOf = ({ headers }: Reply) => ({
  limit: Number(headers["ratelimit-limit"]),
  remaining: Number(headers["ratelimit-remaining"]),
  observed: Number(headers["ratelimit-observed"]),
  name: headers["ratelimit-name"],
});

/** A documentation address in its own network, so that tests do not share a budget. */
const someAddress = () => `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1`;

describe("rate limits", () => {
  test("on by default: 500 a minute for an address, 2,000 for a user, with headers on every response", async () => {
    await limited({}, async (app, now) => {
      const user = await app.makeUser();
      const remoteAddress = someAddress();
      const anonymous = await app.get("/users", { remoteAddress });
      assert.deepEqual(budgetOf(anonymous), {
        limit: 500,
        remaining: 499,
        observed: 1,
        name: "throttle_unauthenticated_api",
      });
      const signedIn = await app.get("/users", { token: user.token, remoteAddress });
      assert.deepEqual(budgetOf(signedIn), {
        limit: 2000,
        remaining: 1999,
        observed: 1,
        name: "throttle_authenticated_api",
      });
      const minute = Math.floor(now / 60_000);
      assert.equal(signedIn.headers["ratelimit-reset"], String((minute + 1) * 60), "the end of the minute, in seconds");
    });
  });

  test("refusals have the headers too", async () => {
    await limited({}, async (app) => {
      const { token } = await app.makeUser();
      const headers = { "content-type": "application/json" };
      const answers = {
        "bad parameter": await app.get("/users?page=x", { token }),
        "not signed in": await app.get("/user"),
        "unknown token": await app.get("/user", { token: "flpat-nobody" }),
        forbidden: await app.post("/users", { token, payload: {} }),
        missing: await app.get("/users/999999999", { token }),
        "broken body": await app.post("/users", { token, payload: "{", headers }),
        "unknown type": await app.post("/users", { token, payload: "{", headers: { "content-type": "text/xml" } }),
        "unknown address": await app.get("/nowhere", { token }),
        "wrong verb": await app.put("/users", { token }),
        "too long": await app.get(`/users?x=${"y".repeat(9000)}`, { token }),
        nothing: await app.delete("/personal_access_tokens/self", { token }),
      };
      for (const [what, reply] of Object.entries(answers)) {
        assert.ok(budgetOf(reply).limit > 0, what);
        assert.ok(budgetOf(reply).observed > 0, what);
      }
    });
  });

  test("beyond the limit 429 with Retry-After in whole seconds, until the minute ends", async () => {
    await limited({ FAIRLEAD_RATE_LIMIT_USER: "3" }, async (app) => {
      const user = await app.makeUser();
      const other = await app.makeUser();
      const ask = () => app.get("/user", { token: user.token });
      for (let n = 1; n <= 3; n++) assert.equal((await ask()).status, 200);
      const asked = Date.now() / 1000;
      const refused = await ask();
      const answered = Date.now() / 1000;
      assert.equal(refused.status, 429);
      assert.deepEqual(refused.body, { message: "429 Too Many Requests" });
      assert.deepEqual(budgetOf(refused), { limit: 3, remaining: 0, observed: 4, name: "throttle_authenticated_api" });
      const wait = refused.headers["retry-after"] ?? "";
      assert.match(wait, /^\d+$/);
      const reset = Number(refused.headers["ratelimit-reset"]);
      assert.ok(
        Number(wait) >= Math.floor(reset - answered) && Number(wait) <= Math.max(1, Math.ceil(reset - asked)),
        wait,
      );
      assert.equal((await app.get("/user", { token: other.token })).status, 200, "each user has their own");
      assert.equal((await app.get("/users", { remoteAddress: someAddress() })).status, 200);
    });
  });

  test("all tokens of a user draw on one budget, from any address", async () => {
    await limited({ FAIRLEAD_RATE_LIMIT_USER: "2" }, async (app) => {
      const user = await app.makeUser();
      const { token: second } = await app.makeToken(user.id);
      assert.equal((await app.get("/user", { token: user.token })).status, 200);
      assert.equal((await app.get("/user", { token: second, remoteAddress: someAddress() })).status, 200);
      assert.equal((await app.get("/user", { token: second, remoteAddress: someAddress() })).status, 429);
    });
  });

  test("an anonymous address has its own budget, and invalid tokens count against it", async () => {
    await limited({ FAIRLEAD_RATE_LIMIT_ADDRESS: "3" }, async (app) => {
      const user = await app.makeUser();
      const remoteAddress = someAddress();
      assert.equal((await app.get("/users", { remoteAddress })).status, 200);
      assert.equal((await app.get("/users", { remoteAddress, token: "flpat-guess" })).status, 401);
      assert.equal((await app.get("/user", { remoteAddress })).status, 401);
      assert.equal((await app.get("/users", { remoteAddress, token: "flpat-guess" })).status, 429);
      assert.equal((await app.get("/users", { remoteAddress })).status, 429);
      assert.equal((await app.get("/nowhere", { remoteAddress })).status, 429);
      assert.equal((await app.post("/users", { remoteAddress, payload: "{" })).status, 429);
      assert.equal(
        (await app.get("/user", { remoteAddress, token: user.token })).status,
        200,
        "the user is not the address",
      );
      assert.equal((await app.get("/users", { remoteAddress: someAddress() })).status, 200);
    });
  });

  test("health is never limited and has no headers of a budget", async () => {
    await limited({ FAIRLEAD_RATE_LIMIT_ADDRESS: "1" }, async (app) => {
      for (let n = 0; n < 3; n++) {
        const reply = await app.get("/-/readiness");
        assert.equal(reply.status, 200);
        assert.equal(reply.headers["ratelimit-limit"], undefined);
      }
    });
  });

  test("health and liveness ignore tokens", async () => {
    await limited({ FAIRLEAD_RATE_LIMIT_ADDRESS: "1" }, async (app) => {
      const remoteAddress = someAddress();
      for (const path of ["/-/health", "/-/liveness"]) {
        for (const call of [
          { token: "flpat-guess" },
          { headers: { authorization: "Bearer flpat-guess" } },
          { query: { private_token: "flpat-guess" } },
          { query: { "private_token[a]": "flpat-guess" } },
          { headers: { sudo: "1" } },
        ]) {
          const { status, headers } = await app.get(path, { ...call, remoteAddress });
          assert.deepEqual([status, headers["ratelimit-limit"]], [200, undefined]);
        }
      }
    });
  });

  test("wrong tokens on readiness and metrics count against the address", async () => {
    await limited({ FAIRLEAD_RATE_LIMIT_ADDRESS: "3" }, async (app) => {
      const admin = await app.makeUser({ admin: true });
      const remoteAddress = someAddress();
      const token = "flpat-guess";
      assert.equal((await app.get("/-/readiness", { remoteAddress, token })).status, 401);
      assert.equal((await app.get("/-/metrics", { remoteAddress, token })).status, 401);
      assert.equal((await app.get("/-/metrics", { remoteAddress })).status, 403);
      for (const path of ["/-/readiness", "/-/metrics"]) {
        const { status, headers } = await app.get(path, { remoteAddress, token });
        assert.equal(status, 429, path);
        assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
        assert.equal((await app.get(path, { remoteAddress, token: admin.token })).status, 200);
      }
      assert.equal((await app.get("/users", { remoteAddress })).status, 429);
      app.services.lifecycle.stopping = true;
      const probed = await app.get("/-/readiness", { remoteAddress });
      assert.equal(probed.status, 503, "an orchestrator is told why, however often it asks");
    });
  });

  test("can be disabled", async () => {
    const app = await testApp({ env: { FAIRLEAD_RATE_LIMIT_ADDRESS: "1" } });
    try {
      for (let n = 0; n < 3; n++) assert.equal((await app.get("/users")).status, 200);
      assert.equal((await app.get("/users")).headers["ratelimit-limit"], undefined);
    } finally {
      await app.close();
    }
  });

  test("two processes share their counts, also of a caller who pauses", async () => {
    const databaseUrl = await freshDatabase();
    const env = { ...ON, FAIRLEAD_RATE_LIMIT_USER: "10" };
    const apps = [await testApp({ env, databaseUrl }), await testApp({ env, databaseUrl })] as const;
    const now = Date.now();
    for (const app of apps) holdMinute(app, now);
    const sharing = apps.map(({ services }) => shareLimits(services.db, services.limiter, services.log));
    try {
      const [here, there] = apps;
      const user = await here.makeUser();
      const other = await here.makeUser();
      const observed = () => there.services.limiter.take(user.id, "", 10, 0).observed;
      for (let n = 0; n < 8; n++) assert.equal((await here.get("/user", { token: user.token })).status, 200);
      assert.equal((await there.get("/user", { token: user.token })).status, 200);
      await until("the other process counts them too", async () => observed() === 9);
      // Other callers continue meanwhile; the pause must not make the other process forget the count.
      for (let n = 1; n <= 3; n++) {
        await there.get("/user", { token: other.token });
        await until("that is shared", async () => {
          const { rows } = await sql<{ count: number }>`
            select count from rate_counts where key = ${`u${other.id}`}`.execute(there.services.db.write);
          return rows.some(({ count }) => count === n);
        });
      }
      assert.equal(budgetOf(await there.get("/user", { token: user.token })).observed, 10);
    } finally {
      for (const { stop } of sharing) stop();
      for (const app of apps) await app.close();
    }
  });
});
