import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { API_LEVEL, RELEASE } from "#lib/release.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const OUTSIDE = "203.0.113.7";

describe("health", () => {
  let app: TestApp;
  let user: TestUser;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ env: { FAIRLEAD_METRICS_ALLOW: "198.51.100.0/24, 2001:db8::/32, 192.0.2.1" } });
    user = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  test("health, liveness and readiness answer anyone", async () => {
    const health = await app.get("/-/health", { remoteAddress: OUTSIDE });
    assert.equal(health.status, 200);
    assert.equal(health.text, "Fairlead OK\n");
    for (const path of ["/-/liveness", "/-/readiness"]) {
      const reply = await app.get(path, { remoteAddress: OUTSIDE });
      assert.equal(reply.status, 200, path);
      assert.deepEqual(reply.body, { status: "ok" }, path);
    }
  });

  /** Whether a caller sees the details of readiness, and the status of metrics. */
  async function shown(remoteAddress: string, token?: string) {
    const readiness = await app.get("/-/readiness", { remoteAddress, token });
    const metrics = await app.get("/-/metrics", { remoteAddress, token });
    return [readiness.body.checks !== undefined, metrics.status];
  }

  test("details and metrics are for loopback, allowed addresses and administrators", async () => {
    for (const address of [
      "127.0.0.1",
      "127.9.9.9",
      "::1",
      "::ffff:127.0.0.1",
      "198.51.100.77",
      "2001:db8::1",
      "192.0.2.1",
    ]) {
      assert.deepEqual(await shown(address), [true, 200], address);
    }
    for (const address of [OUTSIDE, "198.51.101.1", "2001:db9::1", "192.0.2.2", "::ffff:203.0.113.7"]) {
      assert.deepEqual(await shown(address), [false, 403], address);
    }
    assert.deepEqual(await shown(OUTSIDE, user.token), [false, 403]);
    assert.deepEqual(await shown(OUTSIDE, admin.token), [true, 200]);
  });

  test("a forwarded address is trusted only from a trusted proxy", async () => {
    const { status } = await app.get("/-/metrics", {
      remoteAddress: OUTSIDE,
      headers: { "x-forwarded-for": "127.0.0.1" },
    });
    assert.equal(status, 403);
  });

  test("readiness names the database and the partitions", async () => {
    const { body } = await app.get("/-/readiness");
    assert.deepEqual(body.checks, [
      { name: "database", status: "ok" },
      { name: "partitions", status: "ok" },
    ]);
  });

  test("metrics are Prometheus text and count answers by operation", async () => {
    await app.get("/users", { token: user.token });
    const { text, headers } = await app.get("/-/metrics");
    assert.equal(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert.match(text, /^fairlead_http_request_duration_seconds_count\{operation="users\.list",status="200"\} \d+$/m);
    assert.match(text, /^process_resident_memory_bytes \d+$/m);
    assert.ok(!text.includes(user.token));
  });

  test("a stopping process is alive but not ready", async () => {
    app.services.lifecycle.stopping = true;
    try {
      const { status, body } = await app.get("/-/readiness");
      assert.equal(status, 503);
      assert.deepEqual(body, { message: "The process is stopping" });
      assert.equal((await app.get("/-/liveness")).status, 200);
      assert.equal((await app.get("/-/health")).status, 200);
    } finally {
      app.services.lifecycle.stopping = false;
    }
  });

  test("without its database a process is alive but not ready", async () => {
    const lost = await testApp({ databaseUrl: await freshDatabase() });
    await lost.services.db.close();
    try {
      assert.equal((await lost.get("/-/readiness")).status, 503);
      assert.equal((await lost.get("/-/liveness")).status, 200);
    } finally {
      await lost.app.close();
    }
  });

  test("/version and /metadata need sign-in and show the API level and our own release", async () => {
    for (const path of ["/version", "/metadata"]) assert.equal((await app.get(path)).status, 401);
    const version = await app.get("/version", { token: user.token });
    assert.equal(API_LEVEL, "18.2.0");
    assert.deepEqual(version.body, { version: API_LEVEL, revision: RELEASE, fairlead_version: RELEASE });
    const { body } = await app.get("/metadata", { token: user.token });
    assert.equal(body.version, API_LEVEL);
    assert.equal(body.enterprise, true);
    assert.equal(body.kas.enabled, false);
  });
});
