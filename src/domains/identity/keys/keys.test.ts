import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { readSshKey } from "#lib/ssh-keys.ts";
import { keysOn } from "#domains/code/deploy-keys/test-support.ts";
import { type Reply, type TestApp, type TestUser, testApp } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";

describe("SSH keys", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const add = (token: string, payload: object, path = "/user/keys") => app.post(path, { token, payload });
  const statuses = (answers: readonly Reply[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
  const fingerprints = (line: string) => {
    const read = readSshKey(line);
    assert.ok("key" in read);
    return read.key;
  };

  test("one's own key is stored as sent, trimmed, and can be read until it is deleted", async () => {
    const { token } = await app.makeUser();
    const line = newSshKey("ada lovelace@engine");
    const made = await add(token, { title: " Laptop ", key: `${line}\n`, usage_type: "signing" });
    assert.equal(made.status, 201);
    const { id, created_at, ...rest } = made.body;
    assert.deepEqual(Object.keys(made.body), [
      ...["id", "title", "created_at", "expires_at", "last_used_at", "key", "usage_type"],
    ]);
    assert.deepEqual(rest, { title: "Laptop", key: line, expires_at: null, last_used_at: null, usage_type: "signing" });
    assert.match(created_at, /^\d{4}-\d\d-\d\dT.*Z$/);
    const one = `/user/keys/${id}`;
    assert.deepEqual((await app.get(one, { token })).body, made.body);
    assert.deepEqual((await app.get("/user/keys", { token })).body, [made.body]);
    const gone = await app.delete(one, { token });
    assert.deepEqual([gone.status, gone.text], [204, ""]);
    for (const again of [await app.get(one, { token }), await app.delete(one, { token })]) {
      assert.deepEqual([again.status, again.body], [404, { message: "404 Key Not Found" }]);
    }
  });

  test("the title defaults to the comment, and must not be blank", async () => {
    const { token } = await app.makeUser();
    const long = "x".repeat(300);
    assert.equal((await add(token, { key: newSshKey("ada@engine") })).body.title, "ada@engine");
    assert.equal((await add(token, { key: newSshKey(long), title: " " })).body.title, long.slice(0, 255));
    const blank = await add(token, { key: newSshKey() });
    assert.deepEqual([blank.status, blank.body], [400, { message: { title: ["can't be blank"] } }]);
    const missing = await add(token, { title: "Laptop" });
    assert.deepEqual([missing.status, missing.body], [400, { error: "key is missing" }]);
  });

  test("an invalid, weak or expired key is refused with the reason", async () => {
    const { token } = await app.makeUser();
    const refusal = async (payload: object) => {
      const { status, body } = await add(token, { title: "Laptop", ...payload });
      assert.equal(status, 400);
      return body.message.key[0];
    };
    assert.match(await refusal({ key: "ssh-dss AAAAB3NzaC1kc3M=" }), /^type is forbidden. Must be RSA, ECDSA/);
    assert.match(await refusal({ key: "-----BEGIN OPENSSH PRIVATE KEY-----" }), /private key/);
    assert.match(await refusal({ key: `${newSshKey()}\n${newSshKey()}` }), /one line/);
    assert.equal(await refusal({ key: newSshKey(), expires_at: "2020-01-01" }), "has expired");
    const late = await add(token, { key: newSshKey("a"), expires_at: "2040-01-01T00:00:00+01:00" });
    assert.equal(late.body.expires_at, "2039-12-31T23:00:00.000Z");
    assert.equal((await add(token, { key: newSshKey("a"), usage_type: "any" })).status, 400);
  });

  test("two accounts cannot have the same key, whatever its comment, even if they add it concurrently", async () => {
    const [ada, bob] = [await app.makeUser(), await app.makeUser()];
    const key = newSshKey();
    const taken = { message: { fingerprint_sha256: ["has already been taken"] } };
    const answers = await Promise.all([ada, bob].map(({ token }) => add(token, { title: "x", key })));
    assert.deepEqual(statuses(answers), [201, 400]);
    assert.deepEqual(answers.find(({ status }) => status === 400)?.body, taken);
    assert.deepEqual((await add(ada.token, { key: `${key} other` })).body, taken);
  });

  test("a user has at most 200 keys, even if they are added concurrently", async () => {
    const { id, token } = await app.makeUser();
    await sql`insert into keys (user_id, title, key, fingerprint_sha256)
      select ${id}, 'old', 'ssh-ed25519 x', ${`old-${id}-`} || n from generate_series(1, 198) n`.execute(
      app.services.db.write,
    );
    const answers = await Promise.all(Array.from({ length: 5 }, () => add(token, { title: "x", key: newSshKey() })));
    assert.deepEqual(statuses(answers), [201, 201, 400, 400, 400]);
    assert.deepEqual(answers.find(({ status }) => status === 400)?.body, {
      message: { base: ["a user may have at most 200 keys"] },
    });
  });

  test("everyone sees a user's keys, with the user's name as comment and without their last use", async () => {
    const user = await app.makeUser({ name: "Ada\nssh-rsa  Lovelace" });
    const line = newSshKey("ada@home");
    const { body: own } = await add(user.token, { key: line });
    const [kind, blob] = line.split(" ");
    const published = `${kind} ${blob} Ada ssh-rsa Lovelace (localhost)`;
    for (const name of [user.id, user.username, user.username.toUpperCase()]) {
      const { status, body } = await app.get(`/users/${name}/keys`);
      const { last_used_at: _, ...shown } = own;
      assert.deepEqual([status, body], [200, [{ ...shown, key: published }]]);
    }
    assert.equal((await app.get(`/users/${user.id}/keys/${own.id}`)).body.key, published);
    assert.equal(fingerprints(published).fingerprintSha256, fingerprints(line).fingerprintSha256);
  });

  test("keys of an unknown, hidden or other user are not found", async () => {
    const [user, other] = [await app.makeUser(), await app.makeUser()];
    const { body: key } = await add(user.token, { key: newSshKey("a") });
    for (const path of ["/users/nobody-here/keys", "/users/4503599627370495/keys"]) {
      assert.deepEqual((await app.get(path)).body, { message: "404 User Not Found" });
    }
    const foreign = await app.get(`/users/${other.id}/keys/${key.id}`);
    const missing = await app.get(`/users/${other.id}/keys/4503599627370495`);
    assert.deepEqual([foreign.status, foreign.text], [404, missing.text]);
    for (const { status } of [
      await app.get(`/user/keys/${key.id}`, { token: other.token }),
      await app.delete(`/user/keys/${key.id}`, { token: other.token }),
      await app.delete(`/users/${other.id}/keys/${key.id}`, { token: admin.token }),
    ]) {
      assert.equal(status, 404);
    }
    await app.services.db.write.updateTable("users").set({ state: "blocked" }).where("id", "=", user.id).execute();
    assert.equal((await app.get(`/users/${user.id}/keys`)).status, 404);
    assert.equal((await app.get(`/users/${user.id}/keys/${key.id}`)).status, 404);
    assert.equal((await app.get(`/users/${user.id}/keys`, { token: other.token })).status, 200);
  });

  test("administrators add and delete the keys of others; other users do not", async () => {
    const user = await app.makeUser();
    const path = `/users/${user.id}/keys`;
    const payload = { title: "Given", key: newSshKey() };
    assert.equal((await add(user.token, payload, path)).status, 403);
    assert.equal((await app.post(path, { payload })).status, 401);
    const made = await add(admin.token, payload, path);
    assert.deepEqual([made.status, made.body.key], [201, payload.key]);
    assert.equal((await app.delete(`${path}/${made.body.id}`, { token: user.token })).status, 403);
    assert.equal((await app.delete(`${path}/${made.body.id}`, { token: admin.token })).status, 204);
    assert.deepEqual((await app.get("/user/keys", { token: user.token })).body, []);
    const nobody = await add(admin.token, { title: "x", key: newSshKey() }, "/users/4503599627370495/keys");
    assert.deepEqual([nobody.status, nobody.body], [404, { message: "404 User Not Found" }]);
  });

  test("administrators find a key and its user by id and by either fingerprint", async () => {
    const user = await app.makeUser();
    const line = newSshKey("a");
    const { body: own } = await add(user.token, { key: line });
    const { fingerprintMd5, fingerprintSha256 } = fingerprints(line);
    const found = await app.get(`/keys/${own.id}`, { token: admin.token });
    const { user: owner, ...key } = found.body;
    assert.deepEqual(key, own);
    assert.deepEqual([owner.id, owner.email], [user.id, user.email]);
    for (const fingerprint of [
      fingerprintSha256,
      fingerprintMd5,
      `MD5:${fingerprintMd5}`,
      fingerprintMd5.toUpperCase(),
    ]) {
      const { body } = await app.get("/keys", { token: admin.token, query: { fingerprint } });
      // The use of the token that added the key is recorded some time later.
      const { last_activity_on } = body.user;
      assert.deepEqual(body, { ...key, user: { ...owner, last_activity_on } });
    }
    assert.equal((await app.get(`/keys/${own.id}`, { token: user.token })).status, 403);
    assert.equal((await app.get("/keys", { token: user.token })).status, 403);
  });

  test("administrators find who added a deploy key, and the projects that enabled it", async () => {
    const on = keysOn(app);
    const place = await on.keyProject();
    const other = await on.keyProject(place.maintainer);
    const { token, id } = place.maintainer;
    await on.added(other);
    const made = await on.added(place, { can_push: true });
    await app.post(`${other.keys}/${made.id}/enable`, { token });
    const found = await app.get(`/keys/${made.id}`, { token: admin.token });
    assert.equal(found.status, 200);
    const { user, deploy_keys_projects, ...key } = found.body;
    const { can_push: _, creator_active: __, fingerprint, fingerprint_sha256, ...plain } = made;
    assert.deepEqual(key, plain);
    assert.deepEqual([user.id, user.email], [id, place.maintainer.email]);
    assert.deepEqual(
      deploy_keys_projects.map(({ id: link, created_at, updated_at, ...rest }: any) => {
        assert.ok(link > 0 && Date.parse(created_at) <= Date.parse(updated_at));
        return rest;
      }),
      [
        { deploy_key_id: made.id, project_id: place.id, can_push: true },
        { deploy_key_id: made.id, project_id: other.id, can_push: false },
      ],
    );
    for (const query of [{ fingerprint }, { fingerprint: fingerprint_sha256 }]) {
      const { body } = await app.get("/keys", { token: admin.token, query });
      // The creator's activity is recorded a moment after the request.
      assert.deepEqual({ ...body, user: body.user.id }, { ...found.body, user: id });
    }
    assert.equal((await app.get(`/keys/${made.id}`, { token })).status, 403);
    const before = deploy_keys_projects[1].updated_at;
    await app.put(`${other.keys}/${made.id}`, { token, payload: { can_push: true } });
    const { body: changed } = await app.get(`/keys/${made.id}`, { token: admin.token });
    assert.equal(changed.deploy_keys_projects[1].can_push, true);
    assert.ok(changed.deploy_keys_projects[1].updated_at > before);
    await sql`update users set removal_began_at = now() where id = ${id}`.execute(app.services.db.write);
    const orphaned = await app.get(`/keys/${made.id}`, { token: admin.token });
    assert.deepEqual([orphaned.status, orphaned.body.user], [200, null], "until it is the ghost's");
  });

  test("deploy keys are not among a user's own keys, and cannot be deleted there", async () => {
    const on = keysOn(app);
    const place = await on.keyProject();
    const { token, id } = place.maintainer;
    const made = await on.added(place);
    for (const path of ["/user/keys", `/users/${id}/keys`]) assert.deepEqual((await app.get(path, { token })).body, []);
    assert.equal((await app.get(`/user/keys/${made.id}`, { token })).status, 404);
    assert.equal((await app.delete(`/user/keys/${made.id}`, { token })).status, 404);
    assert.equal((await app.delete(`/users/${id}/keys/${made.id}`, { token: admin.token })).status, 404);
    assert.equal((await app.get(`${place.keys}/${made.id}`, { token })).status, 200);
  });

  test("an invalid fingerprint is 400, an unknown one 404", async () => {
    const ask = (fingerprint: string) => app.get("/keys", { token: admin.token, query: { fingerprint } });
    for (const bad of ["SHA256:short", "SHA256:", "md5", "aa:bb", `SHA256:${"A".repeat(42)}=`, "%", "SHA256:A B"]) {
      const { status, body } = await ask(bad);
      assert.deepEqual([status, body], [400, { message: "Failed to return the key" }]);
    }
    const { fingerprintMd5, fingerprintSha256 } = fingerprints(newSshKey());
    for (const unknown of [fingerprintMd5, fingerprintSha256]) {
      const { status, body } = await ask(unknown);
      assert.deepEqual([status, body], [404, { message: "404 Key Not Found" }]);
    }
    const { body } = await app.get("/keys", { token: admin.token });
    assert.deepEqual(body, { error: "fingerprint is missing" });
    assert.equal((await app.get("/keys/4503599627370495", { token: admin.token })).status, 404);
  });

  test("adding and deleting a key is in the audit log of the user", async () => {
    const user = await app.makeUser();
    const line = newSshKey("a");
    const { body: key } = await add(user.token, { key: line });
    await app.delete(`/user/keys/${key.id}`, { token: user.token });
    const rows = await app.services.db.write
      .selectFrom("audit_events")
      .select(["event", "target_type", "target_id", "target_name", "entity_type", "entity_id", "details"])
      .where("actor_id", "=", user.id)
      .orderBy("id")
      .execute();
    const target = { target_type: "Key", target_id: key.id, target_name: "a", entity_type: "User", entity_id: user.id };
    const { fingerprintSha256: fingerprint } = fingerprints(line);
    assert.deepEqual(rows, [
      { event: "key_added", ...target, details: { fingerprint, usage_type: "auth_and_signing", expires_at: null } },
      { event: "key_removed", ...target, details: {} },
    ]);
  });

  test("a FIPS installation neither stores nor finds MD5 fingerprints", async () => {
    const fips = await testApp({ env: { FAIRLEAD_FIPS: "on" } });
    try {
      const line = newSshKey("a");
      const made = await fips.post("/user/keys", { token: admin.token, payload: { key: line } });
      const { fingerprint_md5 } = await app.services.db.write
        .selectFrom("keys")
        .select("fingerprint_md5")
        .where("id", "=", made.body.id)
        .executeTakeFirstOrThrow();
      assert.equal(fingerprint_md5, null);
      const { fingerprintMd5: fingerprint } = fingerprints(line);
      assert.equal((await fips.get("/keys", { token: admin.token, query: { fingerprint } })).status, 400);
    } finally {
      await fips.close();
    }
  });
});
