import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { anyone, defineRule, USERS_AND_ANONYMOUS } from "#access/access.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { INGESTION_LIMITS } from "#http/params/json.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { listen, send } from "#test/support/wire.ts";

const rooted = {
  refs: endpoint({
    method: "GET",
    mount: "root",
    path: "/*project.git/info/refs",
    summary: "Advertise the refs of a repository",
    access: anyone(),
    params: Type.Object({ project: Type.String(), service: Type.Optional(Type.String()) }),
    returns: plain("text/plain"),
    errors: "git",
    handle: ({ params }) => `refs of ${params.project} for ${params.service}`,
  }),
  notify: endpoint({
    method: "POST",
    mount: "root",
    path: "/*project/alerts/notify/:slug/:identifier",
    summary: "Take an alert",
    access: anyone(),
    params: Type.Object({ project: Type.String(), slug: Type.String(), identifier: Type.String() }),
    body: { kind: "raw", bytes: 1000, json: INGESTION_LIMITS },
    returns: Type.Unknown(),
    status: 200,
    audit: "alert_taken",
    handle: ({ params, json }) => ({ ...params, alert: json() }),
  }),
  rule: endpoint({
    method: "GET",
    path: "/rooted/:id/leaf",
    summary: "An access rule reads the path alone",
    access: defineRule({
      rule: "tells what it saw",
      admits: USERS_AND_ANONYMOUS,
      scopes: [],
      check: ({ path }) => ({ seen: { ...path } }),
    }),
    params: Type.Object({ id: Type.String() }),
    returns: Type.Unknown(),
    handle: ({ seen }) => seen,
  }),
};

describe("paths that begin with a namespace", () => {
  let app: TestApp;
  let port: number;
  before(async () => {
    // The real endpoints have the same paths.
    const { repositories: _, alertIngestion: _ingestion, ...others } = resources;
    app = await testApp({ resources: { ...others, rooted } });
    port = await listen(app);
  });
  after(() => app.close());

  const get = (target: string) => send(port, "GET", target);
  const post = (target: string) => send(port, "POST", target, { body: '{"title":"x"}' });

  test("a path of any depth before .git is one parameter", async () => {
    for (const project of ["group/project", "a/b/c/d/e", "group/pro.ject", "group/alerts", "group/info"]) {
      const reply = await get(`/${project}.git/info/refs?service=git-upload-pack`);
      assert.equal(reply.status, 200, project);
      assert.equal(reply.text, `refs of ${project} for git-upload-pack`);
    }
  });

  test("an encoded path is the same, and is decoded once", async () => {
    assert.equal((await get("/group%2Fproject.git/info/refs?service=s")).text, "refs of group/project for s");
    assert.equal((await get("/gr%C3%BC%C3%9Fe/p.git/info/refs?service=s")).text, "refs of grüße/p for s");
    assert.equal((await get("/a/b%252Fc.git/info/refs?service=s")).text, "refs of a/b%2Fc for s");
    assert.equal((await get("//group//project.git//info/refs/?service=s")).text, "refs of group/project for s");
  });

  test("a project ends at the last .git, as git itself does", async () => {
    assert.equal((await get("/group/x.git/y.git/info/refs")).text, "refs of group/x.git/y for undefined");
  });

  test("the suffix .git is optional for browsers", async () => {
    assert.equal((await get("/group/project/info/refs?service=s")).text, "refs of group/project for s");
    assert.equal((await get("/group/info/info/refs?service=s")).text, "refs of group/info for s");
  });

  test("git gets a plain-text 404", async () => {
    for (const target of ["/group/project.git/HEAD", "/group/project.git/objects/info/packs"]) {
      const reply = await get(target);
      assert.equal(reply.status, 404);
      assert.equal(reply.headers["content-type"], "text/plain");
      assert.equal(reply.text, "404 Not Found");
    }
    assert.equal((await get("/api/v4/x.git/HEAD")).headers["content-type"], "application/json");
  });

  test("names after the namespace are parameters", async () => {
    assert.deepEqual((await post("/group/sub/project/alerts/notify/my-tool/abc123")).body, {
      project: "group/sub/project",
      slug: "my-tool",
      identifier: "abc123",
      alert: { title: "x" },
    });
  });

  test("the suffix .json of the identifier is removed", async () => {
    assert.equal((await post("/group/project/alerts/notify/my-tool/abc123.json")).body.identifier, "abc123");
  });

  test("similar paths are 404", async () => {
    for (const target of ["/group/project.git/info", "/group/project.git/HEAD", "/-/x.git/info/refs"]) {
      assert.equal((await get(target)).status, 404, target);
    }
    assert.equal((await post("/alerts/notify/slug/id")).status, 404);
    assert.equal((await post("/group/project/alerts/notify/slug")).status, 404);
  });

  test("API paths are never taken for a namespace", async () => {
    assert.equal((await get("/api/v4/users")).status, 200);
    assert.equal((await get("/api/v4/x.git/info/refs")).status, 404);
    assert.equal((await get("/-/health")).status, 200);
  });

  test("another verb is 405 and names the allowed one", async () => {
    const reply = await post("/group/project.git/info/refs");
    assert.equal(reply.status, 405);
    assert.equal(reply.headers["allow"], "GET, HEAD");
  });

  test("invalid percent-encoding is 400, not 500", async () => {
    for (const target of ["/group/%zz.git/info/refs", "/%ff/p.git/info/refs"]) {
      assert.equal((await get(target)).status, 400, target);
    }
  });

  test("an access rule gets the names of the path, never query or body", async () => {
    const reply = await send(port, "GET", "/api/v4/rooted/7/leaf?id=8&other=9");
    assert.deepEqual(reply.body, { id: "7" });
  });

  test("the log has the path as requested", async () => {
    const reply = await get("/group/project.git/info/refs");
    const [line] = app.logged.filter((entry) => entry.includes(reply.headers["x-request-id"] ?? "no id"));
    assert.equal(JSON.parse(line ?? "").path, "/group/project.git/info/refs");
    assert.equal(JSON.parse(line ?? "").operation, "rooted.refs");
  });
});
