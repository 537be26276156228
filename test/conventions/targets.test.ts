import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { listen, send, sendBytes } from "#test/support/wire.ts";

const echo = {
  name: endpoint({
    method: "GET",
    path: "/named/:name/leaf",
    summary: "Echo a name of the path",
    access: anyone(),
    params: Type.Object({ name: Type.String() }),
    returns: Type.Object({ name: Type.String() }),
    handle: ({ params }) => params,
  }),
};

describe("request targets", () => {
  let app: TestApp;
  let user: TestUser;
  let port: number;
  before(async () => {
    app = await testApp({ resources: { ...resources, echo } });
    user = await app.makeUser();
    port = await listen(app);
  });
  after(() => app.close());

  const get = (target: string) => send(port, "GET", target, { headers: { "private-token": user.token } });

  test("8,192 bytes pass, one more is 414 with a JSON body", async () => {
    const padded = (length: number) => "/api/v4/user?x=".padEnd(length, "y");
    assert.equal((await get(padded(8192))).status, 200);
    const reply = await get(padded(8193));
    assert.equal(reply.status, 414);
    assert.equal(reply.headers["content-type"], "application/json");
    assert.deepEqual(reply.body, { error: "414 Request-URI Too Large" });
    assert.equal((await get("/api/v4/nowhere?x=".padEnd(9000, "y"))).status, 414);
  });

  test("a target that exceeds the header buffer is 414 too", async () => {
    const answer = await sendBytes(port, `GET /${"y".repeat(80_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 414 /);
    assert.match(answer, /content-type: application\/json\r\n/);
    assert.doesNotThrow(() => JSON.parse(answer.split("\r\n\r\n")[1] ?? ""));
  });

  test("duplicate slashes are collapsed", async () => {
    for (const target of ["//api/v4/user", "/api/v4//user", "/api//v4///user", "//-//health"]) {
      assert.equal((await get(target)).status, 200, target);
    }
  });

  test("a trailing slash and a bare ? are ignored", async () => {
    for (const target of ["/api/v4/user/", "/api/v4/user?", "/api/v4/user/?", "/api/v4/users//?"]) {
      assert.equal((await get(target)).status, 200, target);
    }
  });

  test("%2F and %2E are decoded inside one segment", async () => {
    assert.deepEqual((await get("/api/v4/named/group%2Fsub%2fproject%2Ejs/leaf")).body, {
      name: "group/sub/project.js",
    });
    assert.deepEqual((await get("/api/v4/named/a%252Fb/leaf")).body, { name: "a%2Fb" });
    assert.deepEqual((await get("/api/v4/named/%2E%2E%2Fx/leaf")).body, { name: "../x" });
  });

  test("an unencoded slash is 404 with a hint", async () => {
    const reply = await get("/api/v4/named/group/project/leaf");
    assert.equal(reply.status, 404);
    const hint = "A slash within a name is written as %2F: /projects/group%2Fproject";
    assert.deepEqual(reply.body, { error: "404 Not Found", hint });
  });

  test("invalid percent-encoding is 400", async () => {
    for (const target of ["/api/v4/named/%zz/leaf", "/api/v4/named/%ff/leaf", "/api/v4/named/%E0%A4%A/leaf"]) {
      const reply = await get(target);
      assert.equal(reply.status, 400, target);
      assert.equal(reply.headers["content-type"], "application/json");
    }
  });

  test("unknown paths are 404, also for anonymous callers", async () => {
    for (const target of ["/api", "/api/v4", "/api/v4/nothing", "/api/v5/user", "/users", "/api/v4/user/x"]) {
      const reply = await send(port, "GET", target);
      assert.equal(reply.status, 404, target);
      assert.deepEqual(reply.body, { error: "404 Not Found" });
    }
  });

  test("a user id that is not a number is an unknown path", async () => {
    for (const id of ["1ASDF", "root", "-1", "1.5"]) {
      const reply = await get(`/api/v4/users/${id}`);
      assert.equal(reply.status, 404, id);
      assert.deepEqual(reply.body, { error: "404 Not Found" }, id);
    }
  });

  test("the suffix .json of an API path is removed", async () => {
    assert.equal((await get("/api/v4/user.json")).body.id, user.id);
  });
});
