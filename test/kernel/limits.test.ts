import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { holdMinute } from "#test/support/minute.ts";

const common = {
  method: "GET",
  access: anyone(),
  params: Type.Object({}),
  returns: Type.Object({ ok: Type.Boolean() }),
} as const;
const handle = () => ({ ok: true });
const classes = {
  ingestion: endpoint({ ...common, path: "/classes/ingestion", summary: "Ingest", limit: "ingestion", handle }),
  none: endpoint({ ...common, path: "/classes/none", summary: "Unlimited", limit: "none", handle }),
};

describe("limit classes", () => {
  let app: TestApp;
  before(async () => {
    const env = { FAIRLEAD_RATE_LIMITS: "on", FAIRLEAD_RATE_LIMIT_ADDRESS: "2", FAIRLEAD_RATE_LIMIT_USER: "2" };
    app = await testApp({ env, resources: { ...resources, classes } });
    holdMinute(app);
  });
  after(() => app.close());

  let addresses = 0;
  const nextAddress = () => `203.0.113.${++addresses}`;

  test("ingestion beyond its limit is 503 with Retry-After, which senders retry, never 429", async () => {
    const remoteAddress = nextAddress();
    const ask = () => app.get("/classes/ingestion", { remoteAddress });
    for (let n = 0; n < 2; n++) assert.equal((await ask()).status, 200);
    const { status, body, headers } = await ask();
    assert.equal(status, 503);
    assert.deepEqual(body, { message: "503 Service Unavailable" });
    assert.match(headers["retry-after"] ?? "", /^[1-9]\d?$/);
    const user = await app.makeUser();
    for (let n = 0; n < 2; n++) assert.equal((await app.get("/classes/ingestion", { token: user.token })).status, 200);
    assert.equal((await app.get("/classes/ingestion", { token: user.token })).status, 503);
  });

  test("ingestion neither needs nor uses the general budget", async () => {
    const remoteAddress = nextAddress();
    for (let n = 0; n < 3; n++) await app.get("/users", { remoteAddress });
    assert.equal((await app.get("/users", { remoteAddress })).status, 429);
    assert.equal((await app.get("/classes/ingestion", { remoteAddress })).status, 200);
  });

  test("an endpoint without a limit is never refused", async () => {
    const remoteAddress = nextAddress();
    for (let n = 0; n < 5; n++) assert.equal((await app.get("/classes/none", { remoteAddress })).status, 200);
  });
});
