import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const NO_INTEGRATION = { message: "404 Alert Integration Not Found" };
const KEY = /^flak-[\w-]{27}\w{7}$/;

let app: TestApp;
let insert: RowInserter;
let maintainer: TestUser;
before(async () => {
  app = await testApp();
  insert = rowInserter(app);
  maintainer = await app.makeUser();
});
after(() => app.close());

/** The path of the integrations of a new private project of the Maintainer. */
async function newProject(user: TestUser = maintainer) {
  const id = await insert.project(await insert.group());
  await insert.member(user, { project_id: id }, "maintainer");
  return `/projects/${id}/alert_integrations`;
}
const by = (payload?: object) => ({ token: maintainer.token, ...(payload && { payload }) });

async function create(path: string, payload: object = {}) {
  const { status, body, text } = await app.post(path, by({ name: "Disks", ...payload }));
  assert.equal(status, 201, text);
  return body;
}

const problemsOf = async (path: string, payload: object, method: "POST" | "PUT" = "POST") => {
  const { status, body } = await app.call(method, path, by(payload));
  assert.equal(status, 400, JSON.stringify(body));
  return body.message as Record<string, string[]>;
};

describe("alert integrations", () => {
  test("are created with an address and a key, which is shown only then", async () => {
    const path = await newProject();
    const { token, ...made } = await create(path, { name: "Disks & Co.", type: "prometheus" });
    assert.match(token, KEY);
    assert.match(made.endpoint_identifier, /^[0-9a-f]{16}$/);
    assert.match(
      made.url,
      new RegExp(`^http://localhost/[\\w/-]+/alerts/notify/disks-co/${made.endpoint_identifier}.json$`),
    );
    assert.deepEqual(
      [made.type, made.active, made.external_url, made.payload_example, made.payload_attribute_mappings],
      ["prometheus", true, null, null, []],
    );
    assert.deepEqual((await app.get(`${path}/${made.id}`, by())).body, made);
    const { payload_example: _, ...listed } = made;
    assert.deepEqual((await app.get(path, by())).body, [listed]);
  });

  test("neither the database nor the audit log has the key", async () => {
    const { token, id } = await create(await newProject());
    const { rows } = await sql<{ text: string }>`
      select i::text as text from alert_integrations i where id = ${id}
      union all select k::text from alert_integration_keys k where integration_id = ${id}
      union all select e::text from audit_events e where target_type = 'AlertIntegration' and target_id = ${id}`.execute(
      app.services.db.write,
    );
    assert.equal(rows.length, 3);
    for (const { text } of rows) assert.ok(!text.includes(token));
  });

  test("change, except their type and their address", async () => {
    const path = await newProject();
    const { id, endpoint_identifier } = await create(path);
    const changes = { name: "Other", active: false, type: "prometheus", endpoint_identifier: "0".repeat(16) };
    const { status, body, headers } = await app.put(`${path}/${id}`, by({ ...changes, payload_example: '{"a":1}' }));
    assert.deepEqual([status, headers["x-ignored-parameters"]], [200, "type, endpoint_identifier"]);
    assert.deepEqual(
      [body.name, body.active, body.type, body.endpoint_identifier, body.payload_example, "token" in body],
      ["Other", false, "http", endpoint_identifier, '{"a":1}', false],
    );
    assert.equal((await app.put(`${path}/${id}`, by({ payload_example: null }))).body.payload_example, null);
  });

  test("are deleted with their key; one of another project is 404 as a missing one", async () => {
    const [path, other] = [await newProject(), await newProject()];
    const { id } = await create(path);
    for (const [method, end] of [
      ["GET", ""],
      ["PUT", ""],
      ["DELETE", ""],
      ["POST", "/reset_token"],
    ] as const) {
      const [foreign, missing] = [
        await app.call(method, `${other}/${id}${end}`, by({})),
        await app.call(method, `${other}/4503599627370495${end}`, by({})),
      ];
      assert.deepEqual([foreign.status, foreign.text], [404, missing.text], method);
      assert.deepEqual(foreign.body, NO_INTEGRATION);
    }
    assert.equal((await app.delete(`${path}/${id}`, by())).status, 204);
    assert.deepEqual((await app.get(path, by())).body, []);
    const { rows } = await sql`select from alert_integration_keys where integration_id = ${id}`.execute(
      app.services.db.write,
    );
    assert.equal(rows.length, 0);
  });

  test("a key is replaced at once, or after an overlap", async () => {
    const path = await newProject();
    const { id, token } = await create(path);
    const keysOf = async () => {
      const { rows } = await sql<{ ends: string | null }>`
        select case when expires_at > now() then 'later' when expires_at is not null then 'over' end as ends
        from alert_integration_keys where integration_id = ${id} order by expires_at`.execute(app.services.db.write);
      return rows.map(({ ends }) => ends);
    };
    const replaced = await app.post(`${path}/${id}/reset_token`, by({ overlap_seconds: 3600 }));
    assert.equal(replaced.status, 200);
    assert.match(replaced.body.token, KEY);
    assert.notEqual(replaced.body.token, token);
    assert.ok(Date.parse(replaced.body.previous_key_expires_at) > Date.now() + 3_000_000);
    assert.deepEqual(await keysOf(), ["later", null]);
    // The one before the previous one ends.
    await app.post(`${path}/${id}/reset_token`, by({ overlap_seconds: 60 }));
    assert.deepEqual(await keysOf(), ["later", null]);
    const { body } = await app.post(`${path}/${id}/reset_token`, by());
    assert.equal(body.previous_key_expires_at, null);
    assert.deepEqual(await keysOf(), [null]);
    assert.equal((await app.post(`${path}/${id}/reset_token`, by({ overlap_seconds: 604_801 }))).status, 400);
  });

  test("a response that was lost is repeated with its key", async () => {
    const path = await newProject();
    const headers = { "idempotency-key": "once" };
    const [first, again] = [
      await app.post(path, { ...by({ name: "Once" }), headers }),
      await app.post(path, { ...by({ name: "Once" }), headers }),
    ];
    assert.deepEqual([again.status, again.body.token], [201, first.body.token]);
    assert.equal((await app.get(path, by())).body.length, 1);
  });

  test("a project has at most fifty", async () => {
    const path = await newProject();
    const project = Number(path.split("/")[2]);
    await sql`insert into alert_integrations (project_id, type, name, active, endpoint_identifier)
      select ${project}, 'http', 'Many', true, lpad(to_hex(k), 16, '0') from generate_series(1, 50) k`.execute(
      app.services.db.write,
    );
    const { status, text } = await app.post(path, by({ name: "More" }));
    assert.deepEqual([status, /at most 50 alert integrations/.test(text)], [422, true], text);
  });

  test("below Premium a project has one", async () => {
    const free = await testApp({ env: { FAIRLEAD_PLAN: "free" } });
    try {
      const owner = await free.makeUser();
      const { body: project } = await free.post("/projects", { token: owner.token, payload: { name: "Free" } });
      const path = `/projects/${project.id}/alert_integrations`;
      const post = (name: string) => free.post(path, { token: owner.token, payload: { name } });
      assert.equal((await post("One")).status, 201);
      const { status, text } = await post("Two");
      assert.deepEqual([status, /requires the Premium plan/.test(text)], [400, true]);
    } finally {
      await free.close();
    }
  });
});

describe("incident management", () => {
  const management = { name: "Pager", type: "incident_management", external_url: "https://pager.example.com/x" };

  test("has an address outside and neither key nor address of its own", async () => {
    const path = await newProject();
    const made = await create(path, management);
    assert.deepEqual(
      [made.external_url, made.url, made.endpoint_identifier, made.token],
      ["https://pager.example.com/x", null, null, null],
    );
    assert.match((await problemsOf(`${path}/${made.id}/reset_token`, {})).base?.[0] ?? "", /has no key/);
    for (const external_url of [undefined, "pager", "javascript:alert(1)", "ftp://x"])
      assert.ok("external_url" in (await problemsOf(path, { ...management, external_url })), String(external_url));
    assert.ok("external_url" in (await problemsOf(path, { name: "Http", external_url: "https://x.example.com" })));
  });

  test("excludes what receives alerts, and the other way round, while both would be active", async () => {
    const path = await newProject();
    const http = await create(path);
    assert.match((await problemsOf(path, management)).active?.[0] ?? "", /deactivate "Disks" first/);
    const idle = await create(path, { ...management, active: false });
    assert.ok("active" in (await problemsOf(`${path}/${idle.id}`, { active: true }, "PUT")));
    await app.put(`${path}/${http.id}`, by({ active: false }));
    assert.equal((await app.put(`${path}/${idle.id}`, by({ active: true }))).status, 200);
    assert.match((await problemsOf(path, { name: "Again" })).active?.[0] ?? "", /"Pager" replaces/);
    assert.ok("active" in (await problemsOf(`${path}/${http.id}`, { active: true }, "PUT")));
    assert.equal((await app.put(`${path}/${http.id}`, by({ name: "Still there" }))).status, 200);
  });

  test("two requests cannot activate both", async () => {
    for (let round = 0; round < 5; round++) {
      const path = await newProject();
      const ids = [
        (await create(path, { active: false })).id,
        (await create(path, { ...management, active: false })).id,
      ] as const;
      const answers = await Promise.all(ids.map((id) => app.put(`${path}/${id}`, by({ active: true }))));
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 400]));
    }
  });
});

describe("samples and mappings", () => {
  const mapping = { field_name: "title", path: ["event", 0, "name"], type: "string" };

  test("are stored with the integration and shown again", async () => {
    const path = await newProject();
    const given = [
      mapping,
      { field_name: "end_time", path: ["over"], type: "number", label: "Over", fallback_path: ["until"] },
      { field_name: "gitlab_environment_name", path: ["env"], type: "string" },
    ];
    const { id } = await create(path, {
      payload_example: '{"event":[{"name":"x"}]}',
      payload_attribute_mappings: given,
    });
    const { body } = await app.get(`${path}/${id}`, by());
    assert.deepEqual(body.payload_attribute_mappings, [
      { field_name: "title", path: ["event", "0", "name"], type: "string", label: null, fallback_path: null },
      { field_name: "end_time", path: ["over"], type: "number", label: "Over", fallback_path: ["until"] },
      { field_name: "platform_environment_name", path: ["env"], type: "string", label: null, fallback_path: null },
    ]);
    const changed = await app.put(`${path}/${id}`, by({ payload_attribute_mappings: [] }));
    assert.deepEqual(changed.body.payload_attribute_mappings, []);
  });

  test("a sample must be a JSON object, for Prometheus one item", async () => {
    const path = await newProject();
    const sample = async (payload_example: string, type = "http") =>
      (await problemsOf(path, { name: "x", type, payload_example })).payload_example?.[0] ?? "";
    assert.match(await sample("{"), /is not valid JSON/);
    assert.match(await sample("[1]"), /is not a JSON object/);
    assert.match(await sample(`${'{"a":'.repeat(120)}1${"}".repeat(120)}`), /nests deeper than 100 levels/);
    const keys = [
      "alerts",
      "commonAnnotations",
      "commonLabels",
      "externalURL",
      "groupKey",
      "groupLabels",
      "receiver",
      "status",
    ];
    const envelope = JSON.stringify({ ...Object.fromEntries(keys.map((key) => [key, {}])), version: "4" });
    assert.match(await sample(envelope, "prometheus"), /first item of its `alerts`/);
    const long = await app.post(path, by({ name: "x", payload_example: JSON.stringify({ a: "x".repeat(65_536) }) }));
    assert.equal(long.status, 400);
  });

  test("a mapping names a field once, with a type that it takes and a path", async () => {
    const path = await newProject();
    const problem = async (...mappings: object[]) =>
      (await problemsOf(path, { name: "x", payload_attribute_mappings: mappings })).payload_attribute_mappings?.join();
    assert.equal(await problem(mapping, { ...mapping, path: ["x"] }), "has title twice");
    assert.equal(
      await problem({ ...mapping, field_name: "hosts", type: "datetime" }),
      "the type of hosts must be string or array",
    );
    for (const bad of [
      { ...mapping, path: [] },
      { ...mapping, path: [""] },
      { ...mapping, field_name: "iid" },
      { ...mapping, type: "x" },
    ]) {
      const { status, body } = await app.post(path, by({ name: "x", payload_attribute_mappings: [bad] }));
      assert.deepEqual([status, typeof body.error], [400, "string"]);
    }
  });

  test("the fields of a sample can be listed", async () => {
    const { status, body } = await app.post(
      `${await newProject()}/payload_fields`,
      by({ payload: '{"a":{"b":["2026-01-01"]}}' }),
    );
    assert.deepEqual(
      [status, body],
      [
        200,
        [
          { path: ["a", "b"], label: "a/b", type: "array" },
          { path: ["a", "b", "0"], label: "a/b[0]", type: "datetime" },
        ],
      ],
    );
  });

  test("a preview shows the alert that a payload would make, and creates none", async () => {
    const integrations = await newProject();
    const path = `${integrations}/preview`;
    const payload = JSON.stringify({ event: [{ name: "Full" }], severity: "low", hosts: ["a"] });
    const { status, body } = await app.post(path, by({ payload, payload_attribute_mappings: [mapping] }));
    assert.equal(status, 200);
    assert.deepEqual(
      [body.title, body.severity, body.hosts, body.status, body.grouped_by.by, body.fingerprint.length],
      ["Full", "low", ["a"], "triggered", "payload", 64],
    );
    const item = JSON.stringify({
      status: "resolved",
      labels: { alertname: "Down" },
      startsAt: "2026-05-04T00:00:00Z",
    });
    const metrics = await app.post(path, by({ payload: item, type: "prometheus" }));
    assert.deepEqual(
      [metrics.body.title, metrics.body.monitoring_tool, metrics.body.status, metrics.body.grouped_by.by],
      ["Down", "Prometheus", "resolved", "item"],
    );
    const unreadable = await app.post(path, by({ payload: "{}", type: "prometheus" }));
    assert.deepEqual([unreadable.status, /needs `startsAt`/.test(unreadable.text)], [422, true]);
    const { body: created } = await app.get(integrations.replace("alert_integrations", "alerts"), by());
    assert.deepEqual(created, []);
  });
});
