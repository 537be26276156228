import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import { oneOfEach } from "#test/access/support.ts";
import { runAll } from "#test/matrix/requests.ts";
import { cellsOf, linesOf } from "#test/matrix/cells.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("403", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
  });
  after(() => app.close());

  test("says of every endpoint which role, scope or state is missing", async () => {
    const cells = operationsOf(resources).flatMap((operation) =>
      linesOf(operation).flatMap((line) =>
        oneOfEach(
          cellsOf(operation, line).filter(
            ({ caller, scopes, expected, verb, form }) =>
              expected === 403 &&
              caller.refused === undefined &&
              !caller.sudo &&
              scopes?.[0] === "api" &&
              verb === operation.endpoint.method &&
              form === "plain",
          ),
          ({ state }) => [state],
        ),
      ),
    );
    const answers = await runAll(app.app, world, cells);
    const texts = answers.flatMap(({ status, payload, cell }) => {
      if (status !== 403) return [];
      if (cell.operation.endpoint.errors === "git") return [payload];
      const { message, error_description } = JSON.parse(payload) as Record<string, string | undefined>;
      return [message ?? error_description ?? ""];
    });
    assert.ok(texts.length > 150, String(texts.length));
    assert.deepEqual([...new Set(texts.filter((text) => text === "" || /^403 Forbidden(?! - .)/.test(text)))], []);
    for (const expected of [
      "403 Forbidden - This takes an administrator",
      "403 Forbidden - This takes at least the role Maintainer in the project",
      "403 Forbidden - This takes at least the role Owner in the group",
    ])
      assert.ok(texts.includes(expected), expected);
  });
});
