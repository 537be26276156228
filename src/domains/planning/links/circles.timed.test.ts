import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { linkApp, type LinkApp } from "./test-support.ts";

describe("circles of blocking items", () => {
  let links: LinkApp;
  before(async () => {
    links = await linkApp();
  });
  after(() => links.app.close());

  for (const length of [3, 10, 1000]) {
    test(`S-59: a circle of ${length} issues is refused within a second`, async () => {
      const user = await links.app.makeUser();
      const items = await links.chain(await links.project(user), length);
      const refusals = async () => {
        const began = performance.now();
        await links.refusesCircle(user, items);
        return performance.now() - began;
      };
      // The quickest of three, since other work may hold up one of them. Each has two refusals.
      const ms = Math.min(await refusals(), await refusals(), await refusals());
      assert.ok(ms < 2000, String(ms));
    });
  }
});
