import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { GIF } from "#test/support/images.ts";
import { multipart } from "#test/support/wire.ts";
import { makeGroup, word } from "./test-support.ts";

describe("avatars of groups", () => {
  let app: TestApp;
  let owner: TestUser;
  before(async () => {
    app = await testApp();
    owner = await app.makeUser();
  });
  after(() => app.close());

  const send = (verb: "POST" | "PUT", path: string, fields: Parameters<typeof multipart>[0]) => {
    const form = multipart(fields);
    return app.call(verb, path, { ...form, headers: { ...form.headers, "private-token": owner.token } });
  };

  test("are recognised by their content, and served to callers who may see the group", async () => {
    const group = await makeGroup(app, owner);
    const put = await send("PUT", `/groups/${group.id}`, { avatar: { filename: "../x.svg", bytes: GIF } });
    assert.equal(put.status, 200, put.text);
    const address = `/uploads/-/system/group/avatar/${group.id}/avatar.gif`;
    assert.equal(put.body.avatar_url, `http://localhost${address}`);
    const headers = { host: "localhost", "private-token": owner.token };
    const got = await app.app.inject({ url: address, headers });
    assert.deepEqual([got.statusCode, got.headers["content-type"]], [200, "image/gif"]);
    assert.deepEqual(got.rawPayload, GIF);
    assert.equal((await app.get(address)).status, 404, "the group is private");
    assert.equal((await app.get(address.replace("gif", "png"), { token: owner.token })).status, 404);
    const namespace = await app.get(`/namespaces/${group.id}`, { token: owner.token });
    assert.equal(namespace.body.avatar_url, put.body.avatar_url);
    const taken = await app.put(`/groups/${group.id}`, { token: owner.token, payload: { avatar: "" } });
    assert.deepEqual([taken.status, taken.body.avatar_url], [200, null]);
    assert.equal((await app.get(address, { token: owner.token })).status, 404);
  });

  test("can be set with a new group, and must be images", async () => {
    const path = word();
    const made = await send("POST", "/groups", { name: path, path, avatar: { filename: "a", bytes: GIF } });
    assert.equal(made.status, 201, made.text);
    assert.match(made.body.avatar_url, /avatar\.gif$/);
    const bad = await send("PUT", `/groups/${made.body.id}`, {
      avatar: { filename: "a.png", bytes: Buffer.from("<svg/>") },
    });
    assert.equal(bad.status, 400);
    assert.match(bad.body.message.avatar[0], /file format is not supported/);
  });
});
