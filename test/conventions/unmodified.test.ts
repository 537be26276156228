import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { operationsOf } from "#http/app.ts";
import { unlessModifiedSince } from "#http/preconditions.ts";
import { resources } from "#domains/index.ts";
import { actingAccount, prepare, requestOf } from "#test/matrix/requests.ts";
import { keyOf } from "#test/matrix/cells.ts";
import { ADMINISTRATOR, specialRequests, usualCell, withRequest } from "#test/matrix/usual.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

/** What a DELETE removes that has no time of change, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  "DELETE /session": "a session changes with every use",
  "DELETE /user/sessions/:id": "a session changes with every use",
  "DELETE /user/sessions": "these are many",
  "DELETE /user/two_factor": "it is on or off",
  "DELETE /groups/:id/epics/:epic_iid/epics/:child_epic_id": "the child stays; that it is one has no time",
  "DELETE /groups/:id/epics/:epic_iid/issues/:epic_issue_id": "the issue stays; its place has no time",
  "DELETE /projects/:id/repository/files/:file_path": "git keeps no times of files; last_commit_id is the condition",
  "DELETE /projects/:id/repository/branches/:branch": "git keeps no times of refs",
  "DELETE /projects/:id/wikis/:slug": "git keeps no times of files",
  "DELETE /groups/:id/wikis/:slug": "git keeps no times of files",
  "DELETE /projects/:id/repository/tags/:tag_name": "git keeps no times of refs",
  "DELETE /projects/:id/repository/merged_branches": "these are many",
};

const LONG_AGO = "Thu, 01 Jan 1970 00:00:00 GMT";

describe("If-Unmodified-Since on DELETE", () => {
  let app: TestApp;
  let world: World;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
  });
  after(() => app.close());

  const deletions = operationsOf(resources).filter(({ endpoint }) => endpoint.method === "DELETE");

  test("each endpoint declares it, unless what it deletes has no time of change", () => {
    const without = deletions.filter(({ endpoint }) => !endpoint.conditional).map(keyOf);
    assert.deepEqual(without.toSorted(), Object.keys(WITHOUT).toSorted());
    assert.ok(deletions.length - without.length > 15);
  });

  for (const operation of deletions) {
    const key = keyOf(operation);
    const isConditional = !(key in WITHOUT);
    test(`${key}: ${isConditional ? "what changed since is 412 and stays" : "the header is ignored"}`, async () => {
      const cell = usualCell(operation, ADMINISTRATOR);
      assert.ok(cell);
      const acting = actingAccount(world, cell);
      assert.ok(acting);
      const special = await specialRequests.get(key)?.(world.context, acting);
      const [setup = {}] = await prepare(world, [cell], true);
      const usual = withRequest(requestOf(world, cell, setup), special);
      const send = async (since: string) => {
        const headers = { ...(usual.headers as Record<string, string>), "if-unmodified-since": since };
        return app.app.inject({ ...usual, headers });
      };
      const old = await send(LONG_AGO);
      if (!isConditional) return assert.ok(old.statusCode < 300, `${old.statusCode} ${old.payload}`);
      assert.deepEqual([old.statusCode, old.json()], [412, { message: "412 Precondition Failed" }]);
      const now = await send(new Date(Date.now() + 1000).toUTCString());
      assert.ok(now.statusCode < 300, `${now.statusCode} ${now.payload}`);
    });
  }

  test("a change moves the time", async () => {
    const admin = await app.makeUser({ admin: true });
    const { token } = admin;
    const { id } = await app.makeUser({ updated_at: "2020-01-01T00:00:00.900Z" });
    const remove = (since: string) => app.delete(`/users/${id}`, { token, headers: { "if-unmodified-since": since } });
    assert.equal((await remove("Tue, 31 Dec 2019 23:59:59 GMT")).status, 412);
    await app.put(`/users/${id}`, { token, payload: { bio: "new" } });
    assert.equal((await remove("Wed, 01 Jan 2020 00:00:00 GMT")).status, 412);
    assert.equal((await remove(new Date().toISOString())).status, 204);
  });

  test("whoever may not delete it learns nothing of its time", async () => {
    const [owner, stranger] = [await app.makeUser(), await app.makeUser()];
    const { body } = await app.post("/projects", { token: owner.token, payload: { name: `p${owner.id}` } });
    const { status } = await app.delete(`/projects/${body.id}`, {
      token: stranger.token,
      headers: { "if-unmodified-since": LONG_AGO },
    });
    assert.equal(status, 404);
  });

  test("times are compared in whole seconds, in every form of HTTP dates and in ISO 8601; other texts are ignored", () => {
    const isModified = (header: string | undefined, changedAt: string) => {
      try {
        unlessModifiedSince(header)(changedAt);
        return false;
      } catch {
        return true;
      }
    };
    for (const since of [
      "Sun, 06 Nov 1994 08:49:37 GMT",
      "Sunday, 06-Nov-94 08:49:37 GMT",
      "Sun Nov  6 08:49:37 1994",
      "1994-11-06T08:49:37.000Z",
      "1994-11-06T10:49:37+02:00",
    ]) {
      assert.equal(isModified(since, "1994-11-06T08:49:37.999Z"), false, since);
      assert.equal(isModified(since, "1994-11-06T08:49:38.000Z"), true, since);
    }
    for (const text of [undefined, "", "0", "yesterday", "Sun, 99 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994"]) {
      assert.equal(isModified(text, "2999-01-01T00:00:00.000Z"), false, String(text));
    }
  });
});
