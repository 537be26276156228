import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { json } from "node:stream/consumers";
import { sql } from "kysely";
import Type from "typebox";
import { anyone, signedIn } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { INGESTION_LIMITS, PARAMETER_LIMITS } from "#http/params/json.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { listen, multipart, send } from "#test/support/wire.ts";

const formOf = (title: string) => `--x\r\ncontent-disposition: form-data; name="title"\r\n\r\n${title}\r\n--x--\r\n`;

const Size = Type.Object({ bytes: Type.Integer() });
let chunksRead = 0;

const bodies = {
  ingest: endpoint({
    method: "POST",
    path: "/bodies/ingest/:slug",
    summary: "Take other people's JSON",
    access: anyone(),
    params: Type.Object({ slug: Type.String(), dry: Type.Optional(Type.Boolean()) }),
    body: { kind: "raw", bytes: 2 * 1024 * 1024, json: INGESTION_LIMITS },
    returns: Type.Unknown(),
    status: 200,
    audit: "ingested",
    handle: ({ body, json: parsed, params }) => ({ size: body.length, params, value: parsed() }),
  }),
  strict: endpoint({
    method: "POST",
    path: "/bodies/strict",
    summary: "Take JSON by the rules of parameters",
    access: signedIn(),
    params: Type.Object({}),
    body: { kind: "raw", bytes: 1000, json: PARAMETER_LIMITS },
    returns: Type.Unknown(),
    audit: "taken",
    handle: ({ json: parsed }) => parsed(),
  }),
  stream: endpoint({
    method: "POST",
    path: "/bodies/stream",
    summary: "Take a stream",
    access: signedIn(),
    params: Type.Object({}),
    body: "stream",
    transaction: "own",
    returns: Size,
    audit: "streamed",
    async handle({ body }) {
      let bytes = 0;
      for await (const chunk of body) {
        bytes += (chunk as Buffer).length;
        chunksRead++;
      }
      return { bytes };
    },
  }),
  form: endpoint({
    method: "POST",
    path: "/bodies/form",
    summary: "Take a form",
    access: signedIn(),
    params: Type.Object({ title: Type.String() }),
    returns: Type.Object({ title: Type.String() }),
    audit: "form_taken",
    handle: ({ params }) => params,
  }),
  large: endpoint({
    method: "POST",
    path: "/bodies/large/:slug",
    summary: "Take more parameters than usual",
    access: signedIn(),
    params: Type.Object({ slug: Type.String(), text: Type.String({ maxLength: 4_000_000 }) }),
    maxBodyBytes: 3 * 1024 * 1024,
    returns: Type.Object({ slug: Type.String(), length: Type.Integer() }),
    audit: "large_taken",
    handle: ({ params: { slug, text } }) => ({ slug, length: text.length }),
  }),
};

describe("raw bodies", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp({ resources: { ...resources, bodies } });
    user = await app.makeUser();
  });
  after(() => app.close());

  const ingest = (payload: string | Buffer, type = "application/json") =>
    app.post("/bodies/ingest/s?dry=1", { payload, headers: { "content-type": type } });

  test("arrive unchanged, besides the parameters of path and query", async () => {
    const { body } = await ingest('{"slug":"from the body","dry":false}');
    assert.deepEqual(body, {
      size: 36,
      params: { slug: "s", dry: true },
      value: { slug: "from the body", dry: false },
    });
  });

  test("any content type is accepted", async () => {
    for (const type of ["text/plain", "application/x-sentry-envelope", "multipart/form-data; boundary=x"]) {
      assert.deepEqual((await ingest("[1]", type)).body.value, [1], type);
    }
  });

  test("have their own limit of depth: 100 levels, not 32", async () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    assert.equal((await ingest(nested(100))).status, 200);
    const { status, body } = await ingest(nested(101));
    assert.equal(status, 400);
    assert.match(body.error, /deeper than 100/);
    const strict = await app.post("/bodies/strict", { token: user.token, payload: nested(33) });
    assert.equal(strict.status, 400);
  });

  test("lose characters that the database cannot store and keep unusual keys, instead of being refused", async () => {
    const { body } = await ingest(
      String.raw`{"a":"x\u0000y","b":"\ud800","__proto__":{"p":1},"constructor":2,"k\u0000":3}`,
    );
    assert.deepEqual(
      JSON.stringify(body.value),
      '{"a":"x\uFFFDy","b":"\uFFFD","__proto__":{"p":1},"constructor":2,"k\uFFFD":3}',
    );
    const broken = await ingest(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]));
    assert.deepEqual(broken.body.value, ["\uFFFD"]);
    const { token } = user;
    const strict = await app.post("/bodies/strict", { token, payload: String.raw`{"a":"x\u0000y"}` });
    assert.equal(strict.status, 400);
  });

  test("have their own limit of size, beyond which they are 413", async () => {
    assert.equal((await ingest(JSON.stringify("x".repeat(1_500_000)))).status, 200);
    assert.equal((await ingest(JSON.stringify("x".repeat(2_200_000)))).status, 413);
    const strict = await app.post("/bodies/strict", { token: user.token, payload: JSON.stringify("x".repeat(1000)) });
    assert.equal(strict.status, 413);
  });

  test("are not searched for a token or sudo", async () => {
    const payload = JSON.stringify({ private_token: user.token });
    const headers = { "content-type": "application/json" };
    assert.equal((await app.post("/bodies/strict", { payload, headers })).status, 401);
    assert.equal((await ingest(JSON.stringify({ private_token: "wrong", sudo: 1 }))).status, 200);
  });

  test("of parameters may be larger if the endpoint allows it", async () => {
    const send = (length: number, token: string | undefined, more: object = {}) =>
      app.post("/bodies/large/s", { token, payload: { slug: "from the body", text: "x".repeat(length), ...more } });
    for (const length of [10, 2_000_000]) {
      const { status, body } = await send(length, user.token);
      assert.deepEqual([status, body], [201, { slug: "s", length }]);
    }
    assert.equal((await send(3_200_000, user.token)).status, 413);
    const private_token = user.token;
    assert.equal((await send(10, undefined, { private_token })).status, 201, "a small body may hold a token");
    assert.equal((await send(2_000_000, undefined, { private_token })).status, 401, "a large one waits for it");
    const text = "x".repeat(2_000_000);
    const form = { payload: `text=${text}`, headers: { "content-type": "application/x-www-form-urlencoded" } };
    assert.equal((await app.post("/bodies/large/s", { token: user.token, ...form })).body.length, text.length);
  });

  test("are 400 if JSON is needed and they are not", async () => {
    const { status, body } = await ingest("{");
    assert.equal(status, 400);
    assert.deepEqual(body, { error: "The request body is not valid JSON" });
  });
});

describe("bodies that are read after authentication", () => {
  let app: TestApp;
  let user: TestUser;
  let port: number;
  before(async () => {
    app = await testApp({ resources: { ...resources, bodies } });
    user = await app.makeUser();
    port = await listen(app);
  });
  after(() => app.close());

  test("a stream reaches the handler as it arrives", async () => {
    chunksRead = 0;
    const asked = request({
      port,
      method: "POST",
      path: "/api/v4/bodies/stream",
      agent: false,
      headers: { "private-token": user.token, "content-type": "application/x-git" },
    });
    const answered = once(asked, "response") as Promise<[IncomingMessage]>;
    for (let n = 1; n <= 3; n++) {
      asked.write(Buffer.alloc(64 * 1024, n));
      await until("each part is read before the next is sent", async () => chunksRead >= n, undefined, 5);
    }
    asked.end();
    const [answer] = await answered;
    assert.equal(answer.statusCode, 201);
    assert.deepEqual(await json(answer), { bytes: 3 * 64 * 1024 });
  });

  /** Begins an upload that never ends by itself, and returns the answer. */
  async function answerTo(path: string, headers: Record<string, string>) {
    const asked = request({
      port,
      method: "POST",
      path,
      agent: false,
      headers: { ...headers, "content-length": "9000000" },
    });
    asked.on("error", () => {});
    asked.write('--x\r\ncontent-disposition: form-data; name="title"\r\n\r\nsome');
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    asked.destroy();
    return answer.statusCode;
  }

  test("an upload without a token is refused without being read", async () => {
    const form = { "content-type": "multipart/form-data; boundary=x" };
    assert.equal(await answerTo("/api/v4/bodies/form", form), 401);
    assert.equal(await answerTo("/api/v4/users", form), 401);
    chunksRead = 0;
    assert.equal(await answerTo("/api/v4/bodies/stream", {}), 401);
    assert.equal(await answerTo("/api/v4/bodies/strict", {}), 401);
    assert.equal(await answerTo("/api/v4/bodies/large/s", { "content-type": "application/json" }), 401);
    assert.equal(chunksRead, 0);
    assert.equal(await answerTo("/api/v4/users", { ...form, "private-token": user.token }), 403);
  });

  for (const [name, target, type, body] of [
    ["a form", "/bodies/form", "multipart/form-data; boundary=x", formOf("knots")],
    ["a large body of parameters", "/bodies/large/s", "application/json", '{"text":"knots"}'],
    ["a raw body", "/bodies/strict", "application/json", '{"text":"knots"}'],
  ] as const) {
    test(`${name} that is sent slowly is refused if the caller lost access meanwhile`, async () => {
      const ending = async (columns: Parameters<typeof app.makeUser>[0], revoked: boolean) => {
        const sender = await app.makeUser();
        const headers = { "private-token": sender.token, "content-type": type };
        const asked = request({ host: "127.0.0.1", port, method: "POST", path: `/api/v4${target}`, headers });
        asked.write(body.slice(0, 10));
        const { write } = app.services.db;
        const token = write.selectFrom("personal_access_tokens").where("id", "=", sender.tokenId);
        await until("the sender was let in", async () => {
          const { last_used_at } = await token.select("last_used_at").executeTakeFirstOrThrow();
          return last_used_at !== null;
        });
        await write
          .updateTable("users")
          .set({ ...columns, updated_at: sql`now()` })
          .where("id", "=", sender.id)
          .execute();
        if (revoked) {
          const ended = { revoked_at: sql<string>`now() - interval '1 second'` };
          await write.updateTable("personal_access_tokens").set(ended).where("id", "=", sender.tokenId).execute();
        }
        asked.end(body.slice(10));
        const [answer] = (await once(asked, "response")) as [IncomingMessage];
        answer.resume();
        return answer.statusCode;
      };
      assert.deepEqual(
        await Promise.all([ending({}, false), ending({}, true), ending({ state: "blocked" }, false)]),
        [201, 401, 403],
      );
    });
  }

  test("a form is read after authentication", async () => {
    const { payload, headers } = multipart({ title: "knots" });
    const reply = await send(port, "POST", "/api/v4/bodies/form", {
      body: payload,
      headers: { ...headers, "private-token": user.token },
    });
    assert.equal(reply.status, 201);
    assert.deepEqual(reply.body, { title: "knots" });
  });
});
