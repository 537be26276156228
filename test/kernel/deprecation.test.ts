import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { anyone, signedIn } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

const common = {
  method: "GET",
  params: Type.Object({}),
  returns: Type.Object({ ok: Type.Boolean() }),
  handle: () => ({ ok: true }),
} as const;
const deprecated = { since: "2021-11-22", replacement: "the new one" } as const;
const planks = {
  old: endpoint({ ...common, path: "/planks/old", summary: "Old", access: anyone(), deprecated }),
  closed: endpoint({ ...common, path: "/planks/closed", summary: "Old", access: signedIn(), deprecated }),
  new: endpoint({ ...common, path: "/planks/new", summary: "New", access: anyone() }),
};

describe("a deprecated endpoint", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ resources: { ...resources, planks } });
  });
  after(() => app.close());

  test("says since when in every response, refusals included", async () => {
    for (const [path, expected] of [
      ["/planks/old", 200],
      ["/planks/closed", 401],
    ] as const) {
      const { status, headers } = await app.get(path);
      assert.equal(status, expected);
      assert.equal(headers["deprecation"], `@${Date.UTC(2021, 10, 22) / 1000}`);
    }
  });

  test("lets scripts of other sites read the header", async () => {
    const { headers } = await app.get("/planks/old", { headers: { origin: "https://elsewhere.example" } });
    assert.match(String(headers["access-control-expose-headers"]), /\bDeprecation\b/);
  });

  test("differs from one that is not deprecated", async () => {
    const { headers } = await app.get("/planks/new");
    assert.equal(headers["deprecation"], undefined);
  });
});
