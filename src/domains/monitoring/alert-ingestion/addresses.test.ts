import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { item, post, type Receiver, type Receiving, receivingApp, webhook } from "./test-support.ts";

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
const legacyOf = ({ path }: Receiver) => path.replace(/\/alerts\/notify\/.*$/, "/alerts/notify.json");

describe("the addresses that receive alerts", () => {
  let on: Receiving;
  before(async () => {
    on = await receivingApp();
  });
  after(() => on.app.close());

  const update = (table: "projects" | "namespaces", id: number, columns: object) =>
    on.app.services.db.write.updateTable(table).set(columns).where("id", "=", id).execute();

  test("take the key as Bearer token or as password of Basic, with a blank user or any", async () => {
    const to = await on.receiver();
    for (const authorization of [`Bearer ${to.key}`, `bearer ${to.key}`, basic("", to.key), basic("any", to.key)]) {
      const { status, body } = await post(on.app, to.path, authorization, { title: "Same" });
      assert.deepEqual([status, body], [200, [{ iid: 1, title: "Same" }]], authorization.slice(0, 7));
    }
  });

  test("are three, with and without `.json`, and either format comes to each", async () => {
    const to = await on.receiver();
    const legacy = legacyOf(to);
    const prometheus = legacy.replace("/alerts/", "/prometheus/alerts/");
    const all = [to.path, legacy, prometheus];
    let iid = 0;
    for (const path of [
      ...all,
      ...all.map((each) => each.replace(/\.json$/, "")),
      to.path.replace("/tool/", "/other-name/"),
    ]) {
      const answers = [
        await post(on.app, path, `Bearer ${to.key}`, { title: path }),
        await post(on.app, path, `Bearer ${to.key}`, webhook([item(path)])),
      ];
      for (const { status, body } of answers) assert.deepEqual([status, body], [200, [{ iid: ++iid, title: path }]]);
    }
  });

  test("go on working when the project or a group above it is renamed", async () => {
    const to = await on.receiver();
    const { rows } = await sql<{
      id: number;
    }>`select namespace_id as id from projects where id = ${to.project}`.execute(on.app.services.db.write);
    await update("projects", to.project, { path: `renamed-${to.project}` });
    await update("namespaces", rows[0]?.id ?? 0, { path: `moved-${to.project}` });
    assert.equal((await on.send(to, { title: "After" })).status, 200);
    assert.equal(
      (await post(on.app, to.path.toUpperCase().replace(/ALERTS.*/, "alerts/notify"), `Bearer ${to.key}`, {})).status,
      200,
    );
  });

  test("refuse everything else with one and the same 401", async () => {
    const [to, sibling, stranger] = [await on.receiver(), await on.receiver(), await on.receiver()];
    const second = await on.receiver({ name: "Second" }, to.project);
    const elsewhere = to.path.replace(/^\/[^/]+\/[^/]+/, "/no/such");
    const unknown = to.path.replace(/[0-9a-f]{16}\.json$/, "0123456789abcdef.json");
    const { body: ended } = await on.app.post(
      `/projects/${sibling.project}/alert_integrations/${sibling.id}/reset_token`,
      {
        token: on.maintainer.token,
      },
    );
    const bearer = (key: string) => `Bearer ${key}`;
    const tries: readonly (readonly [string, string | undefined])[] = [
      [elsewhere, bearer(to.key)],
      [elsewhere, bearer("x")],
      [legacyOf({ ...to, path: elsewhere }), bearer(to.key)],
      [unknown, bearer(to.key)],
      [second.path, bearer(to.key)],
      [to.path, bearer(second.key)],
      [to.path, bearer(stranger.key)],
      [legacyOf(to), bearer(stranger.key)],
      [to.path, bearer("flak-wrong")],
      [to.path, bearer("")],
      [to.path, bearer(to.key.toUpperCase())],
      [to.path, basic(to.key, "")],
      [to.path, basic("", "")],
      [to.path, to.key],
      [to.path, undefined],
      [to.path, bearer(on.maintainer.token)],
      [sibling.path, bearer(sibling.key)],
    ];
    const texts = new Set<string>();
    for (const [path, authorization] of tries) {
      const { status, text, headers } = await post(on.app, path, authorization, { title: "x" });
      assert.equal(status, 401, `${path} ${authorization}`);
      texts.add(`${text} ${String(headers["www-authenticate"])}`);
    }
    assert.equal(texts.size, 1);
    assert.equal((await post(on.app, sibling.path, bearer(ended.token), { title: "x" })).status, 200);
    const headers = { "private-token": on.maintainer.token };
    const { statusCode } = await on.app.app.inject({ method: "POST", url: to.path, headers, payload: "{}" });
    assert.equal(statusCode, 401, "a token of a user is no key");
  });

  test("refuse a wrong key before they look at the body", async () => {
    const to = await on.receiver();
    assert.equal((await post(on.app, to.path, "Bearer x", "x".repeat(11 * 2 ** 20))).status, 401);
    assert.equal((await post(on.app, to.path, `Bearer ${to.key}`, "x".repeat(11 * 2 ** 20))).status, 413);
  });

  test("take the previous key until its overlap ends", async () => {
    const to = await on.receiver();
    await on.app.post(`/projects/${to.project}/alert_integrations/${to.id}/reset_token`, {
      ...{ token: on.maintainer.token, payload: { overlap_seconds: 600 } },
    });
    assert.equal((await on.send(to, { title: "x" })).status, 200);
    await sql`update alert_integration_keys set expires_at = now() where integration_id = ${to.id} and expires_at is not null`.execute(
      on.app.services.db.write,
    );
    assert.equal((await on.send(to, { title: "x" })).status, 401);
  });

  test("refuse with 403 and the reason while the right key may send nothing", async () => {
    const to = await on.receiver();
    const reason = async () => {
      const { status, body } = await on.send(to, { title: "x" });
      return [status, body.message];
    };
    const columns = {
      "The feature monitoring of this project is switched off": [
        { monitor_access_level: "disabled" },
        { monitor_access_level: "enabled" },
      ],
      "The project is archived": [{ archived: true }, { archived: false }],
      "The project is marked for deletion": [
        { marked_for_deletion_at: "2026-05-04" },
        { marked_for_deletion_at: null },
      ],
    } as const;
    for (const [text, [on_, off]] of Object.entries(columns)) {
      await update("projects", to.project, on_);
      assert.deepEqual(await reason(), [403, `403 Forbidden - ${text}`]);
      await update("projects", to.project, off);
    }
    await on.app.put(`/projects/${to.project}/alert_integrations/${to.id}`, {
      ...{ token: on.maintainer.token, payload: { active: false } },
    });
    assert.deepEqual(await reason(), [403, "403 Forbidden - The alert integration is not active"]);
    assert.deepEqual(await on.alertsOf(to.project), []);
  });

  test("log neither key nor body, and count a refused key", async () => {
    const to = await on.receiver();
    const before = on.app.logged.length;
    await on.send(to, { title: "canary-title" });
    await post(on.app, to.path, `Bearer ${to.key}x`, { title: "canary-title" });
    await post(on.app, `${to.path}?private_token=${to.key}`, basic("", `${to.key}x`), {});
    const logged = on.app.logged.slice(before).join("");
    assert.match(logged, /"kind":"integration_key"[^}]*"reason":"unknown key"/);
    assert.doesNotMatch(logged, /canary|flak-\w{10}/);
  });
});

describe("a test alert", () => {
  let on: Receiving;
  before(async () => {
    on = await receivingApp();
  });
  after(() => on.app.close());

  test("of a Developer creates a real alert, unless the integration is not active", async () => {
    const to = await on.receiver();
    const developer = await on.app.makeUser();
    await on.insert.member(developer, { project_id: to.project }, "developer");
    const path = `/projects/${to.project}/alert_integrations/${to.id}/test`;
    const send = (payload: object) => on.app.post(path, { token: developer.token, payload });
    const whole = await send(webhook([item("One"), item("Two")]));
    assert.deepEqual(
      [whole.status, whole.body],
      [
        200,
        [
          { iid: 1, title: "One" },
          { iid: 2, title: "Two" },
        ],
      ],
    );
    assert.deepEqual((await send({ title: "Three" })).body, [{ iid: 3, title: "Three" }]);
    await on.app.put(`/projects/${to.project}/alert_integrations/${to.id}`, {
      ...{ token: on.maintainer.token, payload: { active: false } },
    });
    assert.equal((await send({ title: "Four" })).status, 403);
  });

  test("cannot be sent by incident management, which receives none", async () => {
    const project = await on.insert.project(await on.insert.group());
    await on.insert.member(on.maintainer, { project_id: project }, "maintainer");
    const { token } = on.maintainer;
    const payload = { name: "Pager", type: "incident_management", external_url: "https://pager.example.com" };
    const { body } = await on.app.post(`/projects/${project}/alert_integrations`, { token, payload });
    const { status, text } = await on.app.post(`/projects/${project}/alert_integrations/${body.id}/test`, {
      ...{ token, payload: { title: "x" } },
    });
    assert.deepEqual([status, /receives no alerts/.test(text)], [400, true], text);
  });
});
