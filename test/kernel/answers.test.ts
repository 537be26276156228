import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Readable } from "node:stream";
import Type from "typebox";
import { anyone, signedIn } from "#access/access.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { badFields, forbidden } from "#lib/refusal.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { listen, send } from "#test/support/wire.ts";

const CHUNK = Buffer.alloc(64 * 1024, "x");
const MANY = 1000;
const LARGE_TEXT = "§x".repeat(4 * 1024 ** 2);
const produced = { chunks: 0, closed: false };

const common = { method: "GET", access: anyone(), params: Type.Object({}) } as const;
const answers = {
  large: endpoint({
    ...common,
    path: "/answers/large",
    summary: "Stream much",
    returns: plain("application/x-tar"),
    handle() {
      Object.assign(produced, { chunks: 0, closed: false });
      return Readable.from(endless()).on("close", () => (produced.closed = true));
    },
  }),
  json: endpoint({
    ...common,
    path: "/answers/json",
    summary: "Answer with a large text",
    returns: Type.Object({ text: Type.String() }, { additionalProperties: false }),
    handle: () => ({ text: LARGE_TEXT }),
  }),
  short: endpoint({
    ...common,
    path: "/answers/short",
    summary: "Stream a little",
    returns: plain("text/plain"),
    handle: () => Readable.from(["one ", "two ", "three"]),
  }),
  broken: endpoint({
    ...common,
    path: "/answers/broken",
    summary: "Stream and fail",
    returns: plain("text/plain"),
    handle: () => Readable.from(failing()),
  }),
  bytes: endpoint({
    ...common,
    path: "/answers/bytes",
    summary: "Answer bytes",
    returns: plain("image/*"),
    handle({ setHeader }) {
      setHeader("content-type", "image/png");
      setHeader("content-security-policy", "default-src 'self'");
      return Buffer.from([1, 2, 3]);
    },
  }),
  git: endpoint({
    ...common,
    mount: "root",
    path: "/answers/git/:how",
    summary: "Refuse as git understands it",
    access: signedIn({ scopes: ["read_repository"] }),
    params: Type.Object({ how: Type.String() }),
    returns: plain("application/x-git-upload-pack-advertisement"),
    errors: "git",
    handle({ params: { how } }) {
      if (how === "forbidden") throw forbidden("You may not push here.");
      if (how === "fields") throw badFields({ path: ["is odd"] });
      if (how === "bug") throw new Error("a bug");
      return "001e# service=git-upload-pack\n";
    },
  }),
};

function* endless() {
  for (; produced.chunks < MANY; produced.chunks++) yield CHUNK;
}

async function* failing() {
  yield "begun ";
  await sleep(10);
  throw new Error("the disk is gone");
}

describe("responses that are streamed, large or not JSON", () => {
  let app: TestApp;
  let port: number;
  before(async () => {
    app = await testApp({ resources: { ...resources, answers } });
    port = await listen(app);
  });
  after(() => app.close());

  const open = async (path: string) => {
    const asked = request({ port, path, agent: false });
    asked.on("error", () => {});
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return { asked, answer };
  };
  const linesOf = (id: unknown) => app.logged.filter((line) => line.includes(String(id)));

  test("large JSON has an ETag of its bytes, and is 304 for a client that has it", async () => {
    const { status, text, headers } = await app.get("/answers/json");
    assert.equal(status, 200);
    assert.equal(text, JSON.stringify({ text: LARGE_TEXT }));
    assert.equal(headers["content-length"], String(Buffer.byteLength(text)));
    const etag = `W/"${hash("sha256", text, "hex").slice(0, 32)}"`;
    assert.equal(headers["etag"], etag);
    const again = await app.get("/answers/json", { headers: { "if-none-match": etag } });
    assert.deepEqual([again.status, again.text], [304, ""]);
  });

  test("a stream has its type and the usual headers, and is logged once at its end", async () => {
    const reply = await send(port, "GET", "/api/v4/answers/short");
    assert.equal(reply.text, "one two three");
    assert.equal(reply.headers["content-type"], "text/plain");
    assert.equal(reply.headers["x-content-type-options"], "nosniff");
    assert.equal(reply.headers["transfer-encoding"], "chunked");
    const lines = linesOf(reply.headers["x-request-id"]);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /"operation":"answers\.short","status":200/);
  });

  test("a slow reader slows the stream down", async () => {
    const { answer } = await open("/api/v4/answers/large");
    answer.pause();
    await until("it has stopped", async () => {
      const { chunks } = produced;
      await sleep(200);
      return produced.chunks === chunks;
    });
    assert.ok(produced.chunks < MANY / 2, `${produced.chunks} of ${MANY} are made although nobody reads`);
    let size = 0;
    for await (const chunk of answer) size += (chunk as Buffer).length;
    assert.equal(size, MANY * CHUNK.length);
  });

  test("a reader who disconnects ends the stream", async () => {
    const { asked, answer } = await open("/api/v4/answers/large");
    await once(answer, "data");
    asked.destroy();
    await until("the stream is closed", async () => produced.closed);
    assert.ok(produced.chunks < MANY);
    await until("both are logged", async () => linesOf(answer.headers["x-request-id"]).length === 2);
    assert.match(linesOf(answer.headers["x-request-id"])[0] ?? "", /a streamed response was cut off/);
  });

  test("a stream that fails is aborted, so that no client takes it for complete", async () => {
    const { answer } = await open("/api/v4/answers/broken");
    assert.equal(answer.statusCode, 200);
    let text = "";
    await assert.rejects(async () => {
      for await (const chunk of answer) text += String(chunk);
    });
    assert.equal(text, "begun ");
    await until("both are logged", async () => linesOf(answer.headers["x-request-id"]).length === 2);
    assert.match(linesOf(answer.headers["x-request-id"])[0] ?? "", /the disk is gone/);
    assert.equal((await send(port, "GET", "/-/liveness")).status, 200);
  });

  test("HEAD does not read the stream", async () => {
    const reply = await send(port, "HEAD", "/api/v4/answers/large");
    assert.equal(reply.status, 200);
    assert.equal(reply.text, "");
    await until("the stream is closed", async () => produced.closed);
    assert.ok(produced.chunks < MANY, `${produced.chunks} were made for nobody`);
  });

  test("headers of the handler take precedence over the defaults", async () => {
    const reply = await send(port, "GET", "/api/v4/answers/bytes");
    assert.equal(reply.headers["content-type"], "image/png");
    assert.equal(reply.headers["content-security-policy"], "default-src 'self'");
    assert.equal(reply.headers["content-length"], "3");
  });

  test("errors for git clients are plain text", async () => {
    const { token } = await app.makeUser();
    const ask = (how: string, headers: Record<string, string> = { "private-token": token }) =>
      send(port, "GET", `/answers/git/${how}`, { headers });
    assert.equal((await ask("fine")).text, "001e# service=git-upload-pack\n");
    for (const [how, headers, status, text] of [
      ["fine", {}, 401, "Sign in with any user name and a token as the password."],
      ["forbidden", undefined, 403, "403 Forbidden - You may not push here."],
      ["fields", undefined, 400, "path is odd"],
      ["bug", undefined, 500, "500 Internal Server Error"],
    ] as const) {
      const reply = await ask(how, headers);
      assert.equal(reply.status, status);
      assert.equal(reply.headers["content-type"], "text/plain");
      assert.equal(reply.text, text);
    }
    const { token: narrow } = await app.makeUser({}, ["read_user"]);
    const scope = await ask("fine", { "private-token": narrow });
    assert.equal(scope.status, 403);
    assert.equal(scope.text, "The request requires higher privileges than provided by the access token.");
  });
});
