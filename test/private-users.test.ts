import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

/** Fields that a private profile hides from others. */
const HIDDEN = ["created_at", "followers", "following", "is_followed"];

describe("private data of users", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
    user = await app.makeUser();
  });
  after(() => app.close());

  test("anonymous callers learn nothing by enumerating ids", async () => {
    const answers = new Set<string>();
    for (let id = 0; id <= user.id + 3; id++) {
      const { status, text, headers } = await app.get(`/users/${id}`);
      assert.equal(status, 401);
      answers.add(`${text} ${headers["content-length"]}`);
    }
    assert.equal(answers.size, 1);
  });

  test("an address that is not public is not found by others, in whole or in part", async () => {
    const address = `hidden-${randomUUID()}@example.com`;
    const second = `second-${randomUUID()}@example.com`;
    const { id } = await app.makeUser({ email: address });
    await sql`insert into emails (user_id, email, confirmed_at) values (${id}, ${second}, now())`.execute(
      app.services.db.write,
    );
    const nobodys = `nobody-${randomUUID()}@example.com`;

    for (const token of [user.token, undefined]) {
      const random = await app.get(`/users?search=${nobodys}`, { token });
      for (const text of [
        address,
        address.toUpperCase(),
        address.slice(0, -4),
        address.slice(0, address.indexOf("@")),
        second,
      ]) {
        const found = await app.get(`/users?search=${text}`, { token });
        assert.equal(found.text, random.text, text);
        assert.equal(found.headers["x-total"], "0");
        assert.equal(found.headers["x-total-pages"], random.headers["x-total-pages"]);
      }
      const filtered = await app.get(`/users?public_email=${address}`, { token });
      assert.deepEqual(filtered.body, []);
    }
    for (const text of [address, second]) {
      const { body } = await app.get(`/users?search=${text}`, { token: admin.token });
      assert.deepEqual(
        body.map((found: TestUser) => found.id),
        [id],
        text,
      );
    }
  });

  test("an administrator who acts for a user searches as that user", async () => {
    const found = await app.get(`/users?search=${admin.email}&sudo=${user.id}`, { token: admin.token });
    assert.deepEqual(found.body, []);
  });

  test("the order reveals no hidden field", async () => {
    for (const column of ["last_sign_in_at", "current_sign_in_at", "email", "last_activity_on", "sign_in_count"]) {
      for (const token of [user.token, admin.token]) {
        const { status, body } = await app.get(`/users?order_by=${column}`, { token });
        assert.equal(status, 400);
        assert.deepEqual(body, { error: "order_by does not have a valid value" });
      }
    }
  });

  test("a private profile hides its more personal part from all but its owner and administrators", async () => {
    const shy = await app.makeUser({ private_profile: true });
    const blocked = await app.makeUser({ state: "blocked" });
    const unconfirmed = await app.makeUser({ confirmed_at: null });
    const shown = async (id: number, token: string) => {
      const { status, body } = await app.get(`/users/${id}`, { token });
      assert.equal(status, 200);
      return HIDDEN.filter((field) => field in body);
    };
    for (const { id } of [shy, blocked, unconfirmed]) assert.deepEqual(await shown(id, user.token), []);
    assert.deepEqual(await shown(user.id, shy.token), HIDDEN);
    assert.deepEqual(await shown(shy.id, shy.token), HIDDEN);
    assert.deepEqual(await shown(shy.id, admin.token), HIDDEN);
  });

  test("the current user shows no column that its view does not declare", async () => {
    const { body } = await app.get("/user", { token: user.token });
    for (const field of [
      "is_admin",
      "note",
      "sign_in_count",
      "namespace_id",
      "current_sign_in_ip",
      "password_digest",
    ]) {
      assert.ok(!(field in body), field);
    }
  });
});

describe("parameters that are columns but no parameters", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const rowOf = async (table: "users" | "personal_access_tokens", id: number) => {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)} where id = ${id}`.execute(
      app.services.db.write,
    );
    assert.ok(rows[0]);
    return rows[0];
  };

  const columnsThatDiffer = (one: Record<string, unknown>, other: Record<string, unknown>) =>
    Object.keys(one).filter((column) => JSON.stringify(one[column]) !== JSON.stringify(other[column]));

  /** A value for every column that is refused nowhere and equal to no default. */
  const forged = {
    ...{ id: 77_777_777, state: "blocked", user_type: "ghost", two_factor_enabled: true, sign_in_count: 99 },
    ...{ unconfirmed_email: "forged@example.com", time_zone: "Europe/Paris", preferred_language: "xx" },
    ...{ avatar_blob: "forged", avatar_file: "forged.png", password_digest: "forged", password_expired: true },
    ...{ locked_until: "2099-01-01", confirmed_at: "2001-01-01", last_sign_in_at: "2001-01-01" },
    ...{ current_sign_in_at: "2001-01-01", last_sign_in_ip: "192.0.2.1", current_sign_in_ip: "192.0.2.1" },
    ...{ last_activity_on: "2001-01-01", email_reset_offered_at: "2001-01-01", namespace_id: 1, created_by_id: 1 },
    ...{ search_text: "forged", provisioned_by_group_id: 1, created_at: "2001-01-01", updated_at: "2001-01-01" },
    ...{ failed_attempts: 9, followers_count: 9, following_count: 9, show_whitespace_in_diffs: false },
    ...{ pass_user_identities_to_ci_jwt: true, removal_began_at: "2001-01-01", email_domain: "forged" },
    ...{ is_admin: true, locked: true, user_id: 1, revoked_at: "2001-01-01", last_used_at: "2001-01-01" },
    ...{ token_digest: "forged", impersonation: true, previous_id: 1, token: "flpat-forged-forged-forged" },
  };

  test("every column of users is a parameter or is forged here", async () => {
    const { rows } = await sql<{ column_name: string }>`
      select column_name from information_schema.columns where table_name = 'users'`.execute(app.services.db.write);
    const { params } = (await import("#domains/identity/users/routes.ts")).users.create;
    const open = rows
      .map((row) => row.column_name)
      .filter((column) => !(column in params.properties || column in forged));
    assert.deepEqual(open, []);
  });

  test("are ignored when a user is made", async () => {
    const make = async (more: object) => {
      const username = `made-${randomUUID().slice(0, 8)}`;
      const payload = {
        ...more,
        username,
        name: "Made",
        email: `${username}@example.com`,
        force_random_password: true,
      };
      const { status, body } = await app.post("/users", { token: admin.token, payload });
      assert.equal(status, 201);
      return rowOf("users", body.id);
    };
    const times = ["created_at", "updated_at", "confirmed_at"];
    const own = ["id", "username", "email", "search_text", "password_digest", "namespace_id", ...times];
    const [plain, other] = [await make({}), await make(forged)];
    assert.deepEqual(
      columnsThatDiffer(plain, other).filter((column) => !own.includes(column)),
      [],
    );
    for (const column of own)
      assert.notEqual(String(other[column]), String((forged as Record<string, unknown>)[column]), column);
  });

  test("are ignored when a user is changed", async () => {
    const user = await app.makeUser();
    const before = await rowOf("users", user.id);
    const { status } = await app.put(`/users/${user.id}`, {
      token: admin.token,
      payload: { ...forged, bio: "changed" },
    });
    assert.equal(status, 200);
    assert.deepEqual(columnsThatDiffer(before, await rowOf("users", user.id)).toSorted(), ["bio", "updated_at"]);
  });

  test("are ignored when a token is made or rotated", async () => {
    const user = await app.makeUser();
    const own = await app.post("/user/personal_access_tokens", {
      token: user.token,
      payload: { ...forged, name: "own", scopes: ["self_rotate"] },
    });
    assert.equal(own.status, 201);
    const rotated = await app.post(`/personal_access_tokens/${own.body.id}/rotate`, {
      token: user.token,
      payload: { ...forged, scopes: ["api"], name: "forged" },
    });
    assert.equal(rotated.status, 200);
    for (const [{ body }, previous] of [
      [own, null],
      [rotated, own.body.id],
    ] as const) {
      const row = await rowOf("personal_access_tokens", body.id);
      assert.equal(row["user_id"], user.id);
      assert.equal(row["name"], "own");
      assert.deepEqual(row["scopes"], ["self_rotate"]);
      assert.equal(row["impersonation"], false);
      assert.equal(row["previous_id"], previous);
      assert.notEqual(body.id, forged.id);
      assert.notEqual(body.token, forged.token);
      assert.ok(Date.parse(String(row["created_at"])) > Date.now() - 60_000);
    }
  });
});
