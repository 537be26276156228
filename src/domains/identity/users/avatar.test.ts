import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { deflateSync, crc32 } from "node:zlib";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { GIF } from "#test/support/images.ts";
import { multipart } from "#test/support/wire.ts";

const chunk = (type: string, data: Buffer) => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
};

/** A valid PNG of two by two pixels, followed by some bytes of padding. */
function png(padding = 0): Buffer {
  const header = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.alloc(6))),
    chunk("IEND", Buffer.alloc(0)),
    Buffer.alloc(padding),
  ]);
}

describe("avatars", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const upload = (id: number, bytes: Buffer, filename = "me.png") => {
    const form = multipart({ avatar: { filename, bytes } });
    return app.put(`/users/${id}`, { ...form, headers: { ...form.headers, "private-token": admin.token } });
  };
  const fetchAvatar = async (url: string) => app.app.inject({ url: new URL(url).pathname });

  test("an image is stored and served to anyone, with the type of its content and not of its name", async () => {
    const user = await app.makeUser();
    const { status, body } = await upload(user.id, png(), "../../etc/passwd.svg");
    assert.equal(status, 200);
    assert.equal(body.avatar_url, `http://localhost/uploads/-/system/user/avatar/${user.id}/avatar.png`);
    const got = await fetchAvatar(body.avatar_url);
    assert.equal(got.statusCode, 200);
    assert.equal(got.headers["content-type"], "image/png");
    assert.equal(got.headers["x-content-type-options"], "nosniff");
    assert.deepEqual(got.rawPayload, png());
    const gif = await upload(user.id, GIF, "picture.png");
    assert.match(gif.body.avatar_url, /avatar\.gif$/);
    assert.equal((await fetchAvatar(body.avatar_url)).statusCode, 404, "the old one is gone");
  });

  test("an avatar can be sent with POST /users", async () => {
    const username = `with-avatar-${admin.id}`;
    const form = multipart({
      username,
      name: "With avatar",
      email: `${username}@example.com`,
      force_random_password: "1",
      avatar: { filename: "a.png", bytes: png() },
    });
    const { status, body } = await app.post("/users", {
      ...form,
      headers: { ...form.headers, "private-token": admin.token },
    });
    assert.equal(status, 201);
    assert.match(body.avatar_url, /avatar\.png$/);
  });

  test("a file that is not an image is refused, whatever its name", async () => {
    const user = await app.makeUser();
    for (const [bytes, filename] of [
      [Buffer.from("#!/bin/sh\necho hello"), "me.png"],
      [Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'><script>1</script></svg>"), "me.svg"],
      [png().subarray(0, 12), "me.png"],
      [Buffer.from("GIF89a"), "me.gif"],
      [Buffer.from("%PDF-1.7"), "me.pdf"],
    ] as const) {
      const { status, body } = await upload(user.id, bytes, filename);
      assert.equal(status, 400, filename);
      assert.match(body.message.avatar[0], /^file format is not supported\./);
    }
    const { body } = await app.get(`/users/${user.id}`, { token: admin.token });
    assert.match(body.avatar_url, /default\.svg$/);
  });

  test("an image may have at most 200 KiB", async () => {
    const user = await app.makeUser();
    const exact = 200 * 1024 - png().length;
    assert.equal((await upload(user.id, png(exact))).status, 200);
    const { status, body } = await upload(user.id, png(exact + 1));
    assert.equal(status, 400);
    assert.deepEqual(body, { message: { avatar: ["is too big (should be at most 200 KiB)"] } });
    assert.equal((await upload(user.id, png(2 * 1024 * 1024))).status, 413);
  });

  test("a refused change does not set the image", async () => {
    const user = await app.makeUser();
    const form = multipart({ avatar: { filename: "a.png", bytes: png() }, bio: "b".repeat(300) });
    const { status } = await app.put(`/users/${user.id}`, {
      ...form,
      headers: { ...form.headers, "private-token": admin.token },
    });
    assert.equal(status, 400);
    assert.match((await app.get(`/users/${user.id}`, { token: admin.token })).body.avatar_url, /default\.svg$/);
  });

  test("an empty value or null removes the avatar; a string is not a file", async () => {
    const user = await app.makeUser();
    const url = async (payload: object) =>
      (await app.put(`/users/${user.id}`, { token: admin.token, payload })).body.avatar_url;
    await upload(user.id, png());
    assert.match(await url({ bio: "unrelated" }), /avatar\.png$/);
    assert.match(await url({ avatar: "" }), /default\.svg$/);
    await upload(user.id, png());
    assert.match(await url({ avatar: null }), /default\.svg$/);
    const { status, body } = await app.put(`/users/${user.id}`, { token: admin.token, payload: { avatar: "me.png" } });
    assert.equal(status, 400);
    assert.deepEqual(body, { error: "avatar is invalid" });
  });

  test("a user without an avatar gets a default image", async () => {
    const user = await app.makeUser({ name: "<script>" });
    const { body } = await app.get(`/users/${user.id}`, { token: admin.token });
    const got = await fetchAvatar(body.avatar_url);
    assert.equal(got.statusCode, 200);
    assert.equal(got.headers["content-type"], "image/svg+xml");
    assert.match(got.payload, /^<svg .*>\?<\/text><\/svg>$/);
    assert.match(String(got.headers["content-security-policy"]), /default-src 'none'/);
  });

  test("an unknown user or file name is 404", async () => {
    const user = await app.makeUser();
    await upload(user.id, png());
    for (const path of [`${user.id}/other.png`, `${user.id}/..%2F..%2Fx`, "999999999/default.svg", "x/avatar.png"]) {
      assert.equal((await app.get(`/uploads/-/system/user/avatar/${path}`)).status, 404, path);
    }
  });

  test("the same image of two users is stored once", async () => {
    const bytes = png(77);
    const ids = [(await app.makeUser()).id, (await app.makeUser()).id];
    for (const id of ids) await upload(id, bytes);
    const [first, second] = await app.services.db.read
      .selectFrom("users")
      .select("avatar_blob")
      .where("id", "in", ids)
      .execute();
    assert.equal(first?.avatar_blob, second?.avatar_blob);
    assert.deepEqual(await app.services.blobs.get(first?.avatar_blob ?? ""), bytes);
  });
});
