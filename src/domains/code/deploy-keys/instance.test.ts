import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { readSshKey } from "#lib/ssh-keys.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { ecdsaKey, keysOn, onTokens, rsaKey, TAKEN } from "./test-support.ts";

describe("the deploy keys of the instance", () => {
  let app: TestApp;
  let on: ReturnType<typeof keysOn>;
  let admin: TestUser;
  let databaseUrl: string;
  before(async () => {
    // A database of its own, because the list shows all keys.
    databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
    on = keysOn(app);
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const add = (payload: object, { token } = admin) => app.post("/deploy_keys", { token, payload });
  const list = (query = "") => app.get(`/deploy_keys${query}`, { token: admin.token });
  const refusal = async (payload: object) => {
    const { status, body } = await add({ title: "Ship", key: newSshKey(), ...payload });
    assert.equal(status, 400);
    return body;
  };

  test("only administrators list and add them", async () => {
    const user = await app.makeUser();
    const payload = { title: "Ship", key: newSshKey() };
    assert.deepEqual(
      [(await app.get("/deploy_keys")).status, (await app.post("/deploy_keys", { payload })).status],
      [...[401, 401]],
    );
    assert.equal((await app.get("/deploy_keys", { token: user.token })).status, 403);
    assert.equal((await add(payload, user)).status, 403);
    // Access is refused before parameters are checked.
    assert.equal((await add({}, user)).status, 403);
  });

  test("a new key is returned in full, trimmed", async () => {
    const line = newSshKey("crane two");
    const { status, body } = await add({ title: " Crane ", key: `\n ${line}\n`, expires_at: "2040-01-01T00:00:00Z" });
    const read = readSshKey(line);
    assert.ok("key" in read);
    assert.equal(status, 201);
    const { id, created_at, ...rest } = body;
    assert.deepEqual(Object.keys(body), [
      ...["id", "title", "created_at", "expires_at", "last_used_at", "key", "usage_type"],
      ...["fingerprint", "fingerprint_sha256"],
    ]);
    assert.deepEqual(rest, {
      title: "Crane",
      expires_at: "2040-01-01T00:00:00.000Z",
      last_used_at: null,
      key: line,
      usage_type: "auth_and_signing",
      fingerprint: read.key.fingerprintMd5,
      fingerprint_sha256: read.key.fingerprintSha256,
    });
    assert.match(body.fingerprint_sha256, /^SHA256:[\w+/]{43}$/);
    assert.match(body.fingerprint, /^([\da-f]{2}:){15}[\da-f]{2}$/);
    assert.match(created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.ok(id > 0);
  });

  test("all problems of title, key and expiry are reported at once", async () => {
    assert.deepEqual((await add({})).body, { error: "key is missing, title is missing" });
    assert.deepEqual(await refusal({ title: " " }), { message: { title: ["can't be blank"] } });
    assert.deepEqual(await refusal({ expires_at: "2020-01-01T00:00:00Z" }), { message: { key: ["has expired"] } });
    assert.deepEqual(await refusal({ expires_at: "2020-01-01T00:00:00Z", title: "" }), {
      message: { key: ["has expired"], title: ["can't be blank"] },
    });
    assert.equal((await add({ title: "x".repeat(256), key: newSshKey() })).status, 400);
    assert.deepEqual(await refusal({ expires_at: "soon" }), { error: "expires_at is invalid" });
  });

  test("a text that is no key is refused with the messages that clients expect", async () => {
    const forbidden = "type is forbidden. Must be RSA, ECDSA, ED25519, ECDSA_SK, or ED25519_SK";
    assert.deepEqual(await refusal({ key: "not a key" }), {
      message: { key: [forbidden, "is invalid"], fingerprint_sha256: ["cannot be generated"] },
    });
    const broken = await refusal({ key: "ssh-rsa not-base64" });
    assert.deepEqual(broken.message.fingerprint_sha256, ["cannot be generated"]);
    assert.equal(broken.message.key[0], forbidden);
    assert.match(broken.message.key[1], /^is invalid: .*base64/);
    assert.deepEqual(await refusal({ key: "ssh-dss AAAAB3NzaC1kc3M=" }), { message: { key: [forbidden] } });
    assert.deepEqual(await refusal({ key: rsaKey(1024) }), { message: { key: ["must be at least 2048 bits"] } });
  });

  test("every key type that OpenSSH generates is accepted", async () => {
    for (const key of [rsaKey(2048), ...["P-256", "P-384", "P-521"].map(ecdsaKey), newSshKey(), ...onTokens()]) {
      const { status, body, text } = await add({ title: "Kind", key });
      assert.equal(status, 201, `${key.slice(0, 40)} ${text}`);
      assert.equal(body.key, key);
    }
  });

  test("only a type, base64 and a comment are accepted as a key", async () => {
    const key = newSshKey();
    const count = async () => (await list()).headers["x-total"];
    const before = await count();
    for (const hostile of [
      `command="rm -rf /" ${key}`,
      `no-pty,command="sh" ${key}`,
      `restrict ${key}`,
      `cert-authority ${key}`,
      `${key}\n${newSshKey()}`,
      `${key}\rcommand="sh" ${key}`,
      `${key}\u2028second`,
      `${key} \u0007bell`,
      `${key} ${"x".repeat(16_384)}`,
      "-----BEGIN OPENSSH PRIVATE KEY-----",
      "ssh-ed25519",
      " ",
    ]) {
      assert.equal((await add({ title: "x", key: hostile })).status, 400, hostile.slice(0, 60));
    }
    assert.equal((await add({ title: "x", key: `${key} \0nul` })).status, 400);
    assert.equal(await count(), before);
  });

  test("a key is registered once, whatever its comment and owner", async () => {
    const taken = { message: { fingerprint_sha256: TAKEN } };
    const key = newSshKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => add({ title: "x", key })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, ...Array.from({ length: 19 }, () => 400)],
    );
    assert.deepEqual((await add({ title: "x", key: `${key} other` })).body, taken);
    const user = await app.makeUser();
    const own = newSshKey("own");
    await app.post("/user/keys", { token: user.token, payload: { key: own } });
    assert.deepEqual((await add({ title: "x", key: own })).body, taken);
    const { status, body } = await app.post("/user/keys", { token: user.token, payload: { key: `${key} mine` } });
    assert.deepEqual([status, body], [400, taken]);
  });

  test("the list is ordered by id, paged, and names the projects of each key", async () => {
    const [first, second] = [await on.keyProject(), await on.keyProject()];
    const key = await on.added(first, { can_push: true });
    await app.post(`${second.keys}/${key.id}/enable`, { token: admin.token });
    const lonely = await add({ title: "Lonely", key: newSshKey() });
    const { status, body, headers } = await list("?per_page=100");
    assert.equal(status, 200);
    const ids = body.map(({ id }: { id: number }) => id);
    assert.deepEqual(
      ids,
      ids.toSorted((a: number, b: number) => a - b),
    );
    assert.equal(headers["x-total"], String(ids.length));
    const shown = body.find(({ id }: { id: number }) => id === key.id);
    const identity = async (id: number) => {
      const { body: project } = await app.get(`/projects/${id}`, { token: admin.token });
      const { description, name, name_with_namespace, path, path_with_namespace, created_at } = project;
      return { id, description, name, name_with_namespace, path, path_with_namespace, created_at };
    };
    assert.deepEqual(shown.projects_with_write_access, [await identity(first.id)]);
    assert.deepEqual(shown.projects_with_readonly_access, [await identity(second.id)]);
    assert.equal(shown.can_push, undefined);
    const alone = body.find(({ id }: { id: number }) => id === lonely.body.id);
    assert.deepEqual(alone, {
      ...lonely.body,
      projects_with_write_access: [],
      projects_with_readonly_access: [],
    });
    const page = await list("?per_page=2&page=2");
    assert.deepEqual(
      page.body.map(({ id }: { id: number }) => id),
      ids.slice(2, 4),
    );
    assert.match(page.headers["link"] ?? "", /rel="next"/);
  });

  test("`public=true` lists only keys that every project may enable", async () => {
    const closed = await on.added(await on.keyProject());
    const { body: open } = await add({ title: "Open", key: newSshKey() });
    const idsOf = async (query: string) => (await list(`?per_page=100${query}`)).body.map(({ id }: any) => id);
    for (const value of ["true", "True", "1"]) {
      const ids = await idsOf(`&public=${value}`);
      assert.deepEqual([ids.includes(open.id), ids.includes(closed.id)], [true, false], value);
    }
    for (const query of ["", "&public=false"]) {
      const ids = await idsOf(query);
      assert.deepEqual([ids.includes(open.id), ids.includes(closed.id)], [true, true], query);
    }
  });

  test("at most a hundred projects of each kind of access are named", async () => {
    const { body: key } = await add({ title: "Everywhere", key: newSshKey() });
    const group = await on.group();
    await sql`with made as (
        insert into projects (namespace_id, name, path) select ${group}, 'p' || n, 'p' || n from generate_series(1, 250) n
        returning id)
      insert into deploy_keys_projects (project_id, key_id, can_push)
      select id, ${key.id}, id % 5 = 0 from made`.execute(app.services.db.write);
    const { body } = await list("?per_page=100");
    const shown = body.find(({ id }: { id: number }) => id === key.id);
    assert.deepEqual([shown.projects_with_write_access.length, shown.projects_with_readonly_access.length], [50, 100]);
  });

  test("the list exists on self-managed and dedicated installations only", async () => {
    const hosted = await testApp({ env: { FAIRLEAD_OFFERING: "hosted" } });
    try {
      assert.equal((await hosted.get("/deploy_keys", { token: admin.token })).status, 404);
      assert.equal((await hosted.post("/deploy_keys", { token: admin.token, payload: {} })).status, 404);
    } finally {
      await hosted.close();
    }
  });

  test("a FIPS installation neither stores nor returns MD5 fingerprints", async () => {
    const before = await add({ title: "Before", key: newSshKey() });
    const fips = await testApp({ env: { FAIRLEAD_FIPS: "on" }, databaseUrl });
    try {
      const payload = { title: "After", key: newSshKey() };
      const made = await fips.post("/deploy_keys", { token: admin.token, payload });
      assert.deepEqual([made.status, "fingerprint" in made.body], [201, false]);
      const { body } = await fips.get("/deploy_keys?per_page=100", { token: admin.token });
      assert.ok(body.some(({ id }: { id: number }) => id === before.body.id));
      assert.ok(body.every((key: object) => !("fingerprint" in key)));
      const { rows } = await sql<{ fingerprint_md5: string | null }>`
        select fingerprint_md5 from keys where id = ${made.body.id}`.execute(app.services.db.write);
      assert.deepEqual(rows, [{ fingerprint_md5: null }]);
    } finally {
      await fips.close();
    }
  });

  test("adding a key is audited for the instance", async () => {
    const { body: key } = await add({ title: "Logged", key: newSshKey() });
    const { rows } = await sql`
      select event, actor_id, target_name, entity_type, entity_id, details from audit_events
      where target_type = 'DeployKey' and target_id = ${key.id}`.execute(app.services.db.write);
    assert.deepEqual(rows, [
      {
        event: "deploy_key_created",
        actor_id: admin.id,
        target_name: "Logged",
        entity_type: "Instance",
        entity_id: null,
        details: { fingerprint: key.fingerprint_sha256, expires_at: null },
      },
    ]);
  });
});
