import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { listen, send } from "#test/support/wire.ts";

describe("ids of projects and groups in a path", () => {
  const tag = randomUUID().slice(0, 8);
  let app: TestApp;
  let port: number;
  let owner: TestUser;
  let group: { id: number };
  let below: { id: number };
  let project: { id: number };
  before(async () => {
    app = await testApp();
    port = await listen(app);
    owner = await app.makeUser();
    group = await make("/groups", { name: "Top", path: `Top.${tag}` });
    below = await make("/groups", { name: "Below", path: "below.One", parent_id: group.id });
    project = await make("/projects", { name: "Sail", path: "Sail.js", namespace_id: below.id });
  });
  after(() => app.close());

  async function make(path: string, payload: object) {
    const { status, body, text } = await app.post(path, { token: owner.token, payload });
    assert.equal(status, 201, text);
    return body as { id: number };
  }

  /** Over a real connection, so that the target is sent as written. */
  const get = (target: string) => send(port, "GET", target, { headers: { "private-token": owner.token } });
  const projectAt = async (id: string) => (await get(`/api/v4/projects/${id}`)).body?.id;
  const groupAt = async (id: string) => (await get(`/api/v4/groups/${id}`)).body?.id;

  test("an id is a number or an encoded full path in any case", async () => {
    const paths = [`Top.${tag}%2Fbelow.One`, `top.${tag}%2fBELOW.ONE`, `TOP.${tag.toUpperCase()}%2Fbelow.one`];
    for (const path of paths) {
      assert.equal(await groupAt(path), below.id, path);
      assert.equal(await projectAt(`${path}%2Fsail.JS`), project.id, path);
      assert.equal((await get(`/api/v4/namespaces/${path}`)).body.id, below.id, path);
    }
    assert.equal(await groupAt(String(below.id)), below.id);
    assert.equal(await projectAt(String(project.id)), project.id);
    assert.equal(await groupAt(`top.${tag}`), group.id);
  });

  test("%2F and %2E are decoded inside one segment, once", async () => {
    assert.equal(await projectAt(`top%2E${tag}%2Fbelow%2eone%2Fsail%2Ejs`), project.id);
    assert.equal(await groupAt(`top%2E${tag}%2fbelow%2Eone`), below.id);
    assert.equal(await projectAt(`top%252E${tag}%252Fbelow%252Eone%252Fsail%252Ejs`), undefined);
    assert.equal(await projectAt(`top.${tag}%2F%2E%2Fbelow.one%2Fsail.js`), undefined);
    assert.equal(await projectAt(`top.${tag}%2Fx%2F%2E%2E%2Fbelow.one%2Fsail.js`), undefined);
  });

  test("everything below a project or group is found by both", async () => {
    const path = `top.${tag}%2Fbelow.one`;
    for (const [byNumber, byPath] of [
      [`groups/${below.id}/projects`, `groups/${path}/projects`],
      [`groups/${below.id}/members/all`, `groups/${path}/members/all`],
      [`groups/${group.id}/members/${owner.id}`, `groups/top.${tag}/members/${owner.id}`],
      [`projects/${project.id}/groups`, `projects/${path}%2Fsail.js/groups`],
      [`projects/${project.id}/members/all/${owner.id}`, `projects/${path}%2Fsail.js/members/all/${owner.id}`],
    ] as const) {
      const expected = await get(`/api/v4/${byNumber}`);
      assert.equal(expected.status, 200, byNumber);
      assert.notEqual(expected.text, "[]", byNumber);
      assert.equal((await get(`/api/v4/${byPath}`)).text, expected.text, byPath);
    }
  });

  test("duplicate slashes are collapsed, but encoded ones are part of the id", async () => {
    assert.equal((await get(`//api///v4//projects//${project.id}//`)).body.id, project.id);
    assert.equal((await get(`/api/v4//projects/top.${tag}%2Fbelow.one%2Fsail.js//members`)).status, 200);
    for (const odd of [`top.${tag}%2F%2Fbelow.one%2Fsail.js`, `%2Ftop.${tag}%2Fbelow.one%2Fsail.js`]) {
      assert.equal((await get(`/api/v4/projects/${odd}`)).status, 404, odd);
    }
    assert.equal((await get(`/api/v4/groups/top.${tag}%2F`)).status, 404);
  });

  test("an unencoded slash is 404, with a hint where encoding it would help", async () => {
    const hint = "A slash within a name is written as %2F: /projects/group%2Fproject";
    for (const target of [
      `projects/top.${tag}/below.one/sail.js`,
      `projects/top.${tag}/below.one/sail.js?simple=true`,
      "projects/no/such/project/members",
      `groups/top.${tag}/below.one`,
      `projects/${project.id}/repository/files/docs/a.md`,
      `projects/${project.id}/repository/branches/feature/one`,
    ]) {
      const reply = await get(`/api/v4/${target}`);
      assert.deepEqual([reply.status, reply.body], [404, { error: "404 Not Found", hint }], target);
    }
    for (const target of [
      "nowhere",
      "projects/1/nowhere",
      `projects/${project.id}/repository/nowhere/a/b`,
      "groups/a%2Fb/nowhere",
      `projects/${"a/".repeat(60)}b`,
    ]) {
      const reply = await get(`/api/v4/${target}`);
      assert.deepEqual([reply.status, reply.body], [404, { error: "404 Not Found" }], target);
    }
  });

  test("a single segment names a group and not a project, and neither is found as the other", async () => {
    assert.equal((await get(`/api/v4/projects/top.${tag}`)).status, 404);
    assert.equal((await get(`/api/v4/projects/top.${tag}%2Fbelow.one`)).status, 404);
    assert.equal((await get(`/api/v4/groups/top.${tag}%2Fbelow.one%2Fsail.js`)).status, 404);
    assert.equal((await get(`/api/v4/groups/${owner.username}`)).status, 404);
    assert.equal((await get(`/api/v4/namespaces/${owner.username}`)).status, 200);
  });

  test("a number beyond 2^53-1, or not a number, is 404 like an unknown id", async () => {
    const absent = { projects: "404 Project Not Found", groups: "404 Group Not Found" };
    for (const kind of ["projects", "groups"] as const) {
      for (const id of [
        "9007199254740991",
        "9007199254740993",
        "99999999999999999999",
        "0",
        "-1",
        "1.5",
        "1e3",
        "%00",
      ]) {
        for (const rest of ["", "/members"]) {
          const reply = await get(`/api/v4/${kind}/${id}${rest}`);
          assert.equal(reply.status, 404, `${kind}/${id}${rest}`);
          assert.deepEqual(reply.body, { message: absent[kind] }, `${kind}/${id}${rest}`);
        }
      }
    }
    for (const child of [`members/${"9".repeat(20)}`, "members/-1", `audit_events/${"9".repeat(17)}`]) {
      assert.equal((await get(`/api/v4/projects/${project.id}/${child}`)).status, 404, child);
    }
    const elsewhere = await get(`/api/v4/projects?id_after=${"9".repeat(20)}`);
    assert.equal(elsewhere.status, 400);
    assert.deepEqual(elsewhere.body, { error: "id_after is invalid" });
  });

  test("trailing slash and bare ? are ignored", async () => {
    for (const end of ["/", "?", "/?", "//"]) {
      assert.equal((await get(`/api/v4/projects/top.${tag}%2Fbelow.one%2Fsail.js${end}`)).body.id, project.id, end);
      assert.equal((await get(`/api/v4/groups/${group.id}/subgroups${end}`)).body[0].id, below.id, end);
    }
  });

  test("the suffix .json is removed after a number or a fixed segment, and is part of a full path", async () => {
    assert.equal(await projectAt(`${project.id}.json`), project.id);
    assert.equal(await groupAt(`${group.id}.json`), group.id);
    assert.equal((await get(`/api/v4/groups/top.${tag}/subgroups.json`)).body[0].id, below.id);
    assert.equal((await get("/api/v4/projects.json")).status, 200);

    const plain = await make("/projects", { name: "package", namespace_id: group.id });
    const dotted = await make("/projects", { name: "package.json", path: "package.json", namespace_id: group.id });
    const dottedGroup = await make("/groups", { name: "Dotted", path: `top.${tag}.json` });
    assert.equal(await projectAt(`top.${tag}%2Fpackage`), plain.id);
    assert.equal(await projectAt(`top.${tag}%2Fpackage.json`), dotted.id);
    assert.equal(await projectAt(`top.${tag}%2Fpackage%2Ejson`), dotted.id);
    assert.equal(await groupAt(`top.${tag}.json`), dottedGroup.id);
    assert.equal((await get(`/api/v4/namespaces/top.${tag}.json`)).body.id, dottedGroup.id);
  });
});
