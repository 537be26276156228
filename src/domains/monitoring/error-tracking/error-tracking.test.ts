import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { deletions } from "#domains/index.ts";
import { removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const NO_SETTINGS = { message: "404 Error Tracking Setting Not Found" };
const NO_KEY = { message: "404 Not found" };
const ON = { active: true, integrated: true };

/** The fields of document 2, and the original name of one beside it. */
const settings = (active: boolean, integrated: boolean) => ({
  ...{ active, project_name: null, tracker_external_url: null, sentry_external_url: null, api_url: null, integrated },
});

interface Key {
  readonly id: number;
  readonly public_key: string;
}

let app: TestApp;
let insert: RowInserter;
let maintainer: TestUser;
before(async () => {
  app = await testApp();
  insert = rowInserter(app);
  maintainer = await app.makeUser();
});
after(() => app.close());

/** A private project of the Maintainer. */
async function newProject() {
  const group = await insert.group();
  const id = await insert.project(group);
  await insert.member(maintainer, { project_id: id }, "maintainer");
  return {
    id,
    settings: `/projects/${id}/error_tracking/settings`,
    keys: `/projects/${id}/error_tracking/client_keys`,
  };
}
const by = (payload?: object) => ({ token: maintainer.token, ...(payload && { payload }) });
const patch = (path: string, payload?: object) => app.call("PATCH", path, by(payload));
const shown = ({ status, body }: Reply) => [status, body];
const keysAt = async (path: string): Promise<Key[]> => (await app.get(path, by())).body;

async function newKey(path: string): Promise<Key> {
  const { status, body } = await app.post(path, by());
  assert.equal(status, 201);
  return body;
}

test("a project has at most a hundred client keys", async () => {
  const project = await newProject();
  await sql`insert into error_tracking_client_keys (project_id, public_key)
    select ${project.id}, 'flet_' || md5(${String(project.id)} || ' ' || k) from generate_series(1, 99) k`.execute(
    app.services.db.write,
  );
  await newKey(project.keys);
  const { status, text } = await app.post(project.keys, by());
  assert.deepEqual([status, /at most 100 client keys/.test(text)], [422, true], text);
});

describe("the settings of error tracking", () => {
  test("GET and PATCH without settings are 404, and PATCH creates none", async () => {
    const project = await newProject();
    assert.deepEqual(shown(await app.get(project.settings, by())), [404, NO_SETTINGS]);
    assert.deepEqual(shown(await patch(project.settings, ON)), [404, NO_SETTINGS]);
    assert.deepEqual(shown(await app.get(project.settings, by())), [404, NO_SETTINGS]);
    assert.deepEqual(await keysAt(project.keys), []);
  });

  test("PUT creates them with 200 and the fields of document 2", async () => {
    const project = await newProject();
    assert.deepEqual(shown(await app.put(project.settings, by(ON))), [200, settings(true, true)]);
    assert.deepEqual(shown(await app.get(project.settings, by())), [200, settings(true, true)]);
  });

  test("PUT replaces them with 200", async () => {
    const project = await newProject();
    await app.put(project.settings, by(ON));
    const off = { active: false, integrated: false };
    assert.deepEqual(shown(await app.put(project.settings, by(off))), [200, settings(false, false)]);
    assert.deepEqual(shown(await app.get(project.settings, by())), [200, settings(false, false)]);
  });

  test("PUT requires active and integrated", async () => {
    const project = await newProject();
    for (const [payload, error] of [
      [{}, "active is missing, integrated is missing"],
      [{ active: true }, "integrated is missing"],
      [{ integrated: true }, "active is missing"],
      [{ active: "", integrated: "" }, "active is missing, integrated is missing"],
      [{ active: "perhaps", integrated: 7 }, "active is invalid, integrated is invalid"],
    ] as const)
      assert.deepEqual(shown(await app.put(project.settings, by(payload))), [400, { error }]);
    assert.equal((await app.get(project.settings, by())).status, 404);
  });

  test("PATCH with active=true activates and active=false deactivates; integrated is optional and stays", async () => {
    const project = await newProject();
    await app.put(project.settings, by({ active: false, integrated: true }));
    assert.deepEqual(shown(await patch(project.settings, { active: true })), [200, settings(true, true)]);
    assert.deepEqual(shown(await patch(project.settings, { active: false })), [200, settings(false, true)]);
    assert.deepEqual(shown(await app.get(project.settings, by())), [200, settings(false, true)]);
    const both = await patch(project.settings, { active: false, integrated: false });
    assert.deepEqual(shown(both), [200, settings(false, false)]);
  });

  test("PATCH requires active", async () => {
    const project = await newProject();
    await app.put(project.settings, by(ON));
    const { status, body } = await patch(project.settings, { integrated: false });
    assert.deepEqual([status, body], [400, { error: "active is missing" }]);
    assert.deepEqual(shown(await patch(project.settings, { active: "maybe" })), [400, { error: "active is invalid" }]);
    assert.deepEqual((await app.get(project.settings, by())).body, settings(true, true));
  });

  test("PUT and PATCH take their parameters from the query beside an empty body, as one client sends them", async () => {
    const project = await newProject();
    const made = await app.put(`${project.settings}?active=true&integrated=true`, by({}));
    assert.deepEqual(shown(made), [200, settings(true, true)]);
    const changed = await patch(`${project.settings}?active=false`, {});
    assert.deepEqual(shown(changed), [200, settings(false, true)]);
  });

  test("only the integrated backend exists: active without integrated is 400 and changes nothing", async () => {
    const project = await newProject();
    const reason = "must be true to activate error tracking, because there is no other backend";
    const refused = [400, { message: { integrated: [reason] } }];
    assert.deepEqual(shown(await app.put(project.settings, by({ active: true, integrated: false }))), refused);
    assert.deepEqual(shown(await app.get(project.settings, by())), [404, NO_SETTINGS]);
    await app.put(project.settings, by({ active: false, integrated: false }));
    assert.deepEqual(shown(await patch(project.settings, { active: true })), refused);
    assert.deepEqual(shown(await app.get(project.settings, by())), [200, settings(false, false)]);
  });

  test("the id of the project is a number or its full path", async () => {
    const { token } = maintainer;
    const { body } = await app.post("/projects", { token, payload: { name: `tracked-${maintainer.id}` } });
    const path = `/projects/${encodeURIComponent(body.path_with_namespace)}/error_tracking`;
    assert.equal((await app.put(`${path}/settings`, by(ON))).status, 200);
    assert.deepEqual((await app.get(`/projects/${body.id}/error_tracking/settings`, by())).body, settings(true, true));
    assert.equal((await keysAt(`${path}/client_keys`)).length, 1);
  });

  test("activating creates a client key if no active one is there, also by several requests at once", async () => {
    const project = await newProject();
    await app.put(project.settings, by({ active: false, integrated: true }));
    assert.deepEqual(await keysAt(project.keys), []);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, turn) =>
        turn % 2 ? patch(project.settings, { active: true }) : app.put(project.settings, by(ON)),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const [first, ...more] = await keysAt(project.keys);
    assert.ok(first);
    assert.deepEqual(more, []);
    await sql`update error_tracking_client_keys set active = false where id = ${first.id}`.execute(
      app.services.db.write,
    );
    await patch(project.settings, { active: true });
    assert.equal((await keysAt(project.keys)).length, 2);
  });

  test("at least Maintainer: less is 403, a stranger 404 as of a missing project, nobody 401", async () => {
    const project = await newProject();
    const [developer, stranger] = [await app.makeUser(), await app.makeUser()];
    await insert.member(developer, { project_id: project.id }, "developer");
    const missing = "/projects/4503599627370495/error_tracking";
    for (const [method, path, payload] of [
      ["GET", "/settings", undefined],
      ["PUT", "/settings", ON],
      ["PATCH", "/settings", ON],
      ["GET", "/client_keys", undefined],
      ["POST", "/client_keys", undefined],
      ["DELETE", "/client_keys/1", undefined],
      ["DELETE", "/client_keys", { key_id: 1 }],
    ] as const) {
      const ask = (user?: TestUser, place = `/projects/${project.id}/error_tracking`) =>
        app.call(method, place + path, { token: user?.token, ...(payload && { payload }) });
      assert.equal((await ask()).status, 401, `${method} ${path}`);
      assert.equal((await ask(developer)).status, 403, `${method} ${path}`);
      const [hidden, absent] = [await ask(stranger), await ask(stranger, missing)];
      assert.deepEqual([hidden.status, hidden.text], [404, '{"message":"404 Project Not Found"}']);
      assert.deepEqual([hidden.status, hidden.text], [absent.status, absent.text]);
    }
  });
});

describe("client keys of error tracking", () => {
  test("POST generates one with 201 and the fields of document 2, without settings too", async () => {
    const project = await newProject();
    const { status, body } = await app.post(project.keys, by());
    const { id, public_key } = body;
    const dsn = `http://${public_key}@localhost/api/v4/error_tracking/collector/${project.id}`;
    assert.deepEqual([status, body], [201, { id, active: true, public_key, tracker_dsn: dsn, sentry_dsn: dsn }]);
    assert.equal((await app.get(project.settings, by())).status, 404);
  });

  test("no key can be guessed or chosen: 128 random bits, whatever the request says", async () => {
    const project = await newProject();
    const chosen = await app.post(project.keys, by({ public_key: "chosen".repeat(8), active: false, id: 7 }));
    const others = await Promise.all(Array.from({ length: 49 }, () => newKey(project.keys)));
    const keys = [chosen.body as Key, ...others].map(({ public_key }) => public_key);
    for (const key of keys) assert.match(key, /^flet_[0-9a-f]{32}$/);
    assert.equal(new Set(keys).size, 50);
    // Each of the 32 digits takes many values: none is fixed, counted up or derived from the time.
    for (let digit = 5; digit < 37; digit++) assert.ok(new Set(keys.map((key) => key[digit])).size >= 6, `${digit}`);
    assert.deepEqual([chosen.body.active, chosen.headers["x-ignored-parameters"]], [true, "public_key, active"]);
  });

  test("the address is on the host and with the scheme by which the caller reached the server", async () => {
    const project = await newProject();
    const { id, public_key } = await newKey(project.keys);
    const at = async (host: string) => {
      const { body } = await app.get(project.keys, { ...by(), headers: { host } });
      return body.find((key: Key) => key.id === id).tracker_dsn;
    };
    const collector = `/api/v4/error_tracking/collector/${project.id}`;
    assert.equal(await at("127.0.0.1:3000"), `http://${public_key}@127.0.0.1:3000${collector}`);
    // A host that nobody allowed does not get into an address.
    assert.ok(!(await at("evil.example")).includes("evil"));
  });

  test("clients that report errors read host, key and project from the address, and derive where to report", async () => {
    const project = await newProject();
    const { body } = await app.post(project.keys, by());
    const dsn = /^(?<scheme>\w+):\/\/(?<key>\w+)@(?<host>[\w.-]+(?::\d+)?)(?<path>\/.+)?\/(?<id>\d+)$/.exec(
      body.sentry_dsn,
    )?.groups;
    assert.deepEqual(
      { ...dsn },
      {
        ...{ scheme: "http", key: body.public_key, host: "localhost" },
        ...{ path: "/api/v4/error_tracking/collector", id: String(project.id) },
      },
    );
  });

  test("GET lists them by id, 20 to a page", async () => {
    const project = await newProject();
    for (let count = 0; count < 22; count++) await newKey(project.keys);
    const { status, body, headers } = await app.get(project.keys, by());
    assert.equal(status, 200);
    assert.equal(body.length, 20);
    const ids = body.map(({ id }: Key) => id);
    assert.deepEqual(
      ids,
      ids.toSorted((one: number, other: number) => one - other),
    );
    assert.deepEqual([headers["x-total"], headers["x-page"], headers["x-next-page"]], ["22", "1", "2"]);
    const second = await app.get(`${project.keys}?page=2`, by());
    assert.equal(second.body.length, 2);
    assert.ok(second.body[0].id > ids.at(-1));
  });

  test("DELETE is 200 with the key, which is gone then", async () => {
    const project = await newProject();
    const [key, other] = [await newKey(project.keys), await newKey(project.keys)];
    assert.deepEqual(shown(await app.delete(`${project.keys}/${key.id}`, by())), [200, key]);
    assert.deepEqual(await keysAt(project.keys), [other]);
    assert.deepEqual(shown(await app.delete(`${project.keys}/${key.id}`, by())), [404, NO_KEY]);
  });

  test("DELETE takes key_id from the body or the query as well; without one it is 400", async () => {
    const project = await newProject();
    const keys = [await newKey(project.keys), await newKey(project.keys), await newKey(project.keys)] as const;
    assert.deepEqual(shown(await app.delete(project.keys, by({ key_id: keys[0].id }))), [200, keys[0]]);
    assert.deepEqual(shown(await app.delete(`${project.keys}?key_id=${keys[1].id}`, by())), [200, keys[1]]);
    assert.deepEqual(shown(await app.delete(project.keys, by({}))), [400, { error: "key_id is missing" }]);
    assert.deepEqual(shown(await app.delete(project.keys, by({ key_id: keys[0].id }))), [404, NO_KEY]);
    // The path wins over the body.
    const path = `${project.keys}/${keys[0].id}`;
    assert.deepEqual(shown(await app.delete(path, by({ key_id: keys[2].id }))), [404, NO_KEY]);
    assert.deepEqual(await keysAt(project.keys), [keys[2]]);
  });

  test("a key of another project is 404 as a missing one, and stays", async () => {
    const [project, other] = [await newProject(), await newProject()];
    const theirs = await newKey(other.keys);
    for (const ask of [
      (id: number) => app.delete(`${project.keys}/${id}`, by()),
      (id: number) => app.delete(project.keys, by({ key_id: id })),
    ]) {
      const [foreign, missing] = [await ask(theirs.id), await ask(4503599627370495)];
      assert.deepEqual([foreign.status, foreign.text], [404, missing.text]);
    }
    assert.deepEqual(await keysAt(other.keys), [theirs]);
  });

  test("the id of a key is an integer and nothing else", async () => {
    const project = await newProject();
    const { id } = await newKey(project.keys);
    for (const name of ["..%2F1", "%2e%2e", "x", "1e0", `${id}.5`, `${id}%00`, "9".repeat(20)])
      assert.ok([400, 404].includes((await app.delete(`${project.keys}/${name}`, by())).status), name);
    for (const key_id of ["../1", "x", 1.5, [id], { id }, "9".repeat(20)])
      assert.equal((await app.delete(project.keys, by({ key_id }))).status, 400, String(key_id));
    assert.equal((await keysAt(project.keys)).length, 1);
  });
});

describe("what error tracking keeps", () => {
  const { columns, ofProjects } = deletions;

  test("no request names an outside address or its token, so none is stored, called or shown", async () => {
    const project = await newProject();
    const outside = { api_url: "http://169.254.169.254/api/0/projects/a/b", token: "canary-of-a-token" };
    const first = await app.put(project.settings, by({ ...ON, ...outside, project_name: "canary-name" }));
    assert.deepEqual(shown(first), [200, settings(true, true)]);
    assert.equal(first.headers["x-ignored-parameters"], "api_url, token, project_name");
    const second = await patch(project.settings, { active: true, ...outside, api_url: "http://evil.example/api/0/a" });
    assert.deepEqual(shown(second), [200, settings(true, true)]);
    const { rows } = await sql<{ text: string }>`
      select s::text as text from error_tracking_settings s where project_id = ${project.id}
      union all select k::text from error_tracking_client_keys k where project_id = ${project.id}
      union all select e::text from audit_events e
      where entity_type = 'Project' and entity_id = ${project.id}`.execute(app.services.db.write);
    assert.ok(rows.length > 2);
    assert.doesNotMatch([...rows.map(({ text }) => text), ...app.logged].join("\n"), /canary|169\.254|evil/);
  });

  test("a report is let in by one index: the active key of this project, no other", async () => {
    const db = app.services.db.write;
    const [project, other] = [await newProject(), await newProject()];
    const [key, idle, theirs] = [
      await newKey(project.keys),
      await newKey(project.keys),
      await newKey(other.keys),
    ] as const;
    await sql`update error_tracking_client_keys set active = false where id = ${idle.id}`.execute(db);
    const lookup = ({ public_key }: Key) => sql<{ found: number }>`
      select 1 as found from error_tracking_client_keys
      where public_key = ${public_key} and project_id = ${project.id} and active`;
    const isLetIn = async (shownKey: Key) => (await lookup(shownKey).execute(db)).rows.length === 1;
    assert.deepEqual([await isLetIn(key), await isLetIn(idle), await isLetIn(theirs)], [true, false, false]);
    await app.services.db.transaction(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx);
      const { rows } = await sql<Record<string, string>>`explain ${lookup(key)}`.execute(tx);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      assert.match(plan, /Index Only Scan using error_tracking_client_keys_public_key_taken/);
    });
  });

  test("each write leaves an audit event of the project, without the key itself", async () => {
    const project = await newProject();
    await app.put(project.settings, by(ON));
    await patch(project.settings, { active: false });
    const key = await newKey(project.keys);
    await app.delete(`${project.keys}/${key.id}`, by());
    const { rows } = await sql<{ event: string; target_type: string; details: object; text: string }>`
      select event, target_type, details, e::text as text from audit_events e
      where entity_type = 'Project' and entity_id = ${project.id} order by id`.execute(app.services.db.write);
    assert.deepEqual(
      rows.map(({ event, target_type, details }) => [event, target_type, details]),
      [
        ["error_tracking_settings_replaced", "ErrorTrackingSettings", { active: true, integrated: true }],
        ["error_tracking_settings_changed", "ErrorTrackingSettings", { active: false, integrated: true }],
        ["error_tracking_client_key_created", "ErrorTrackingClientKey", {}],
        ["error_tracking_client_key_deleted", "ErrorTrackingClientKey", {}],
      ],
    );
    for (const { text } of rows) assert.ok(!text.includes(key.public_key));
  });

  test("it goes with the project, the keys in batches before it", async () => {
    const [project, other] = [await newProject(), await newProject()];
    for (const each of [project, other]) await app.put(each.settings, by(ON));
    assert.equal(columns["error_tracking_client_keys.project_id"], "removed first");
    const { db } = app.services;
    await db.transaction(async (tx) => {
      while ((await removeBatchOfRows(tx, [project.id], ofProjects, app.services)) > 0);
      await tx.deleteFrom("projects").where("id", "=", project.id).execute();
    });
    const { rows } = await sql<{ id: number }>`
      select project_id as id from error_tracking_settings where project_id in (${project.id}, ${other.id})
      union all select project_id from error_tracking_client_keys where project_id in (${project.id}, ${other.id})`.execute(
      db.write,
    );
    assert.deepEqual(
      rows.map(({ id }) => id),
      [other.id, other.id],
    );
  });
});
