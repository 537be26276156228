import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { listen, sendBytes } from "#test/support/wire.ts";

const JSON_TYPE = { "content-type": "application/json" };
const FORM = { "content-type": "application/x-www-form-urlencoded" };

describe("hostile input", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  /** The answer to a malformed body. */
  async function refusal(payload: string | Buffer, headers = JSON_TYPE) {
    const { status, body } = await app.put(`/users/${admin.id}`, { token: admin.token, payload, headers });
    assert.equal(status, 400, String(payload).slice(0, 80));
    assert.deepEqual(Object.keys(body), ["error"]);
    return body.error as string;
  }
  const accepted = async (payload: string) =>
    assert.equal(
      (await app.put(`/users/${admin.id}`, { token: admin.token, payload, headers: JSON_TYPE })).status,
      200,
    );

  test("JSON depth: 32 levels pass, 33 do not", async () => {
    const nested = (levels: number) => `{"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    await accepted(nested(32));
    assert.match(await refusal(nested(33)), /deeper than 32/);
    assert.match(await refusal(nested(100_000)), /deeper than 32/);
  });

  test("JSON elements: at most 100,000", async () => {
    const list = (count: number) => `{"x":[${"1,".repeat(count - 1)}1]}`;
    await accepted(list(99_000));
    assert.match(await refusal(list(100_001)), /more than 100000 elements/);
  });

  test("JSON numbers: at most 1,000 digits", async () => {
    await accepted(`{"x":0.${"1".repeat(999)}}`);
    assert.match(await refusal(`{"x":${"1".repeat(1001)}}`), /more than 1000 digits/);
  });

  test("NUL is refused in JSON, urlencoded and query", async () => {
    assert.match(await refusal(String.raw`{"bio":"a\u0000b"}`), /NUL/);
    assert.match(await refusal("bio=a%00b", FORM), /NUL/);
    const { status } = await app.get("/users?search=a%00b", { token: admin.token });
    assert.equal(status, 400);
  });

  test("lone surrogates and broken UTF-8 are refused", async () => {
    assert.match(await refusal(String.raw`{"bio":"\ud800"}`), /surrogate/);
    assert.match(await refusal(Buffer.from([0x7b, 0x22, 0x62, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])), /UTF-8/);
    assert.match(await refusal("bio=%ED%A0%80", FORM), /UTF-8/);
    assert.match(await refusal("bio=%FF", FORM), /UTF-8/);
    assert.match(await refusal("bio=%zz", FORM), /UTF-8/);
    assert.equal((await app.get("/users?search=%C0%80", { token: admin.token })).status, 400);
  });

  test("__proto__, constructor and prototype are refused as keys", async () => {
    for (const key of ["__proto__", "constructor", "prototype"]) {
      await refusal(`{"${key}":{"admin":true}}`);
      await refusal(`{"custom_attributes":{"${key}":"x"}}`);
      await refusal(`${key}[admin]=true`, FORM);
      await refusal(`custom_attributes[${key}]=x`, FORM);
      assert.equal((await app.get(`/users?${key}=1`, { token: admin.token })).status, 400, key);
    }
    assert.equal(({} as Record<string, unknown>)["admin"], undefined);
  });

  test("invalid JSON, and JSON that is not an object, is 400", async () => {
    for (const payload of ["{", "nonsense", "[]", "7", '"text"', "null", '{"a":1,"a":2}']) await refusal(payload);
  });

  test("ids past 2^53 - 1 are 404 in a path and 400 elsewhere", async () => {
    for (const id of ["9007199254740992", "18446744073709551616", "9".repeat(400)]) {
      assert.equal((await app.get(`/users/${id}`, { token: admin.token })).status, 404, id);
      const { status, body } = await app.get(`/personal_access_tokens?user_id=${id}`, { token: admin.token });
      assert.equal(status, 400, id);
      assert.deepEqual(body, { error: "user_id is invalid" });
    }
    assert.equal((await app.get("/users/9007199254740991", { token: admin.token })).status, 404);
    const { body } = await app.get("/personal_access_tokens?user_id=9007199254740991", { token: admin.token });
    assert.deepEqual(body, []);
    const exact = { token: admin.token, payload: '{"group_id_for_saml":9007199254740993}', headers: JSON_TYPE };
    assert.deepEqual((await app.put(`/users/${admin.id}`, exact)).body, { error: "group_id_for_saml is invalid" });
  });

  test("ids that no row can have are refused without reaching the database", async () => {
    for (const id of ["-1", "1.5", "1e3", "0x1", "%20", "1%00", "١"]) {
      const { status } = await app.get(`/users/${id}`, { token: admin.token });
      assert.ok(status === 404 || status === 400, `${id}: ${status}`);
    }
  });

  test("a token or sudo parameter that is not a string is refused", async () => {
    for (const query of ["private_token[a]=b", "private_token[]=b", "private_token[a][b]=c"]) {
      const { status } = await app.get(`/users?${query}`);
      assert.ok(status === 400 || status === 401, `${query}: ${status}`);
    }
    for (const value of [{}, [], { toString: 1 }, [["x"]]]) {
      const { status } = await app.post("/users", { payload: { private_token: value } });
      assert.ok(status === 400 || status === 401, JSON.stringify(value));
      const sudo = await app.post("/users", { token: admin.token, payload: { sudo: value } });
      assert.ok(sudo.status === 400 || sudo.status === 403, JSON.stringify(value));
    }
  });

  test("texts of any length and script never cause a database error", async () => {
    for (const search of [
      "%",
      "_",
      "\\",
      "'",
      '"',
      '"""',
      "(",
      "ｆｕｌｌ",
      "😀😀😀",
      "a".repeat(512),
      "'; drop table users; --",
    ]) {
      const { status } = await app.get(`/users?search=${encodeURIComponent(search)}`, { token: admin.token });
      assert.equal(status, 200, search);
    }
    const { body } = await app.get(`/users?search=${"a".repeat(513)}`, { token: admin.token });
    assert.deepEqual(body, { error: "search is too long (maximum is 512 characters)" });
  });

  test("a body of more than 1 MiB is 413 before it is read", async () => {
    const reply = await app.put(`/users/${admin.id}`, {
      token: admin.token,
      payload: "x".repeat(1024 * 1024 + 1),
      headers: FORM,
    });
    assert.equal(reply.status, 413);
    assert.deepEqual(reply.body, { message: "413 Request Entity Too Large" });
    assert.equal(reply.headers["connection"], "close");
  });

  test("malformed HTTP is answered with JSON and the connection closed", async () => {
    const port = await listen(app);
    const garbage = await sendBytes(port, "NONSENSE\r\n\r\n");
    assert.match(garbage, /^HTTP\/1\.1 400 /);
    assert.match(garbage, /content-type: application\/json\r\n/);
    assert.match(garbage, /\{"error":"Bad Request"\}$/);
    const many = Array.from({ length: 150 }, (_, n) => `x-${n}: y`).join("\r\n");
    const headers = await sendBytes(
      port,
      `GET /api/v4/users HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${many}\r\n\r\n`,
    );
    assert.match(headers, /^HTTP\/1\.1 4\d\d /);
    const large = await sendBytes(port, `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(70_000)}\r\n\r\n`);
    assert.match(large, /^HTTP\/1\.1 431 /);
  });
});
