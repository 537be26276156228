import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { longestBlock } from "#test/support/event-loop.ts";

describe("POST /markdown", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  test("a long text does not block the event loop", async () => {
    const { token } = await app.makeUser();
    const render = (payload: object) => app.post("/markdown", { token, payload });
    const text = "A **long** text with `code`, @people and #12.\n\n".repeat(20_000).slice(0, 500_000);
    assert.equal((await render({ text: "a" })).status, 201);
    const { result, longest } = await longestBlock(() => render({ text, gfm: true }), 100);
    assert.ok([201, 422].includes(result.status), result.text.slice(0, 200));
    assert.ok(longest < 100, `${longest} ms`);
  });
});
