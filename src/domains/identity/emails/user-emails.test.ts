import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("secondary addresses", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const address = () => `a-${randomUUID()}@example.com`;
  const add = (user: TestUser, payload: object) => app.post("/user/emails", { token: user.token, payload });
  const addTo = (id: number, payload: object) => app.post(`/users/${id}/emails`, { token: admin.token, payload });
  /** The addresses to which a link was mailed. */
  const mailedTo = async (userId: number) => {
    const { rows } = await sql<{ email: string }>`
      select data->'payload'->>'email' as email from jobs.job
      where data->>'job' = 'mails.send' and data->'payload'->>'kind' = 'confirm_email'
        and data->'payload'->>'userId' = ${String(userId)} order by created_on`.execute(app.services.db.write);
    return rows.map(({ email }) => email);
  };

  test("one's own address is unconfirmed until its mailed link is used", async () => {
    const user = await app.makeUser();
    const email = address();
    const { status, body } = await add(user, { email: ` ${email.toUpperCase()} `, skip_confirmation: true });
    assert.equal(status, 201);
    assert.deepEqual({ ...body, id: 0 }, { id: 0, email, confirmed_at: null });
    assert.deepEqual(await mailedTo(user.id), [email]);
    assert.deepEqual((await app.get("/user/emails", { token: user.token })).body, [body]);
    assert.deepEqual((await app.get(`/user/emails/${body.id}`, { token: user.token })).body, body);
    assert.equal((await app.delete(`/user/emails/${body.id}`, { token: user.token })).status, 204);
    for (const answer of [
      await app.get(`/user/emails/${body.id}`, { token: user.token }),
      await app.delete(`/user/emails/${body.id}`, { token: user.token }),
    ]) {
      assert.equal(answer.status, 404);
      assert.deepEqual(answer.body, { message: "404 Email Not Found" });
    }
  });

  test("administrators can add a confirmed address, which PUT /users/:id then accepts", async () => {
    const user = await app.makeUser();
    const [vouched, waiting] = [address(), address()];
    const first = await addTo(user.id, { email: vouched, skip_confirmation: true });
    assert.equal(first.status, 201);
    assert.notEqual(first.body.confirmed_at, null);
    const second = await addTo(user.id, { email: waiting });
    assert.equal(second.body.confirmed_at, null);
    assert.deepEqual(await mailedTo(user.id), [waiting]);
    const list = await app.get(`/users/${user.id}/emails`, { token: admin.token });
    assert.deepEqual(list.body, [first.body, second.body]);
    const put = (payload: object) => app.put(`/users/${user.id}`, { token: admin.token, payload });
    assert.equal((await put({ email: vouched })).body.email, vouched);
    assert.equal((await put({ email: waiting })).body.unconfirmed_email, waiting);
    assert.deepEqual(await mailedTo(user.id), [waiting, waiting], "the link is sent again");
  });

  test("an address of another user is answered like a missing one", async () => {
    const [user, other] = [await app.makeUser(), await app.makeUser()];
    const { body } = await add(other, { email: address() });
    for (const path of [`/user/emails/${body.id}`, `/users/${user.id}/emails/${body.id}`]) {
      const token = path.startsWith("/users") ? admin.token : user.token;
      assert.equal((await app.get(path, { token })).status, 404);
      assert.equal((await app.delete(path, { token })).status, 404);
    }
    assert.equal((await app.get(`/users/${other.id}/emails`, { token: user.token })).status, 403);
    assert.equal((await app.get(`/users/${other.id}/emails/${body.id}`, { token: admin.token })).body.id, body.id);
    assert.equal((await app.delete(`/users/${other.id}/emails/${body.id}`, { token: admin.token })).status, 204);
  });

  test("a taken address is refused in any case, primary or secondary, even for concurrent requests", async () => {
    const [user, other] = [await app.makeUser(), await app.makeUser()];
    const email = address();
    await add(other, { email });
    for (const taken of [other.email.toUpperCase(), email, user.email]) {
      const { status, body } = await add(user, { email: taken });
      assert.equal(status, 400, taken);
      assert.deepEqual(body, { message: { email: ["has already been taken"] } });
    }
    for (let round = 0; round < 5; round++) {
      const wanted = address();
      const username = `n-${randomUUID().slice(0, 8)}`;
      const answers = await Promise.all([
        add(user, { email: wanted }),
        add(other, { email: wanted }),
        app.post("/users", {
          token: admin.token,
          payload: { username, name: "n", email: wanted, force_random_password: true },
        }),
      ]);
      const statuses = answers.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 201).length, 1, statuses.join());
      assert.equal(statuses.filter((status) => status === 400 || status === 409).length, 2, statuses.join());
    }
  });

  test("an invalid address is refused, and there are at most 20", async () => {
    const user = await app.makeUser();
    assert.deepEqual((await add(user, { email: "nonsense" })).body, { message: { email: ["is invalid"] } });
    assert.deepEqual((await add(user, {})).body, { error: "email is missing" });
    await sql`insert into emails (user_id, email)
      select ${user.id}, 'm' || i || '-' || ${user.email} from generate_series(1, 19) i`.execute(app.services.db.write);
    const answers = await Promise.all([add(user, { email: address() }), add(user, { email: address() })]);
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 400],
    );
    const refused = answers.find(({ status }) => status === 400);
    assert.match(refused?.text ?? "", /at most 20 secondary addresses/);
  });

  test("a removed address is no longer shown or used, and its link fails", async () => {
    const user = await app.makeUser();
    const email = address();
    const { body } = await addTo(user.id, { email, skip_confirmation: true });
    await app.put(`/users/${user.id}`, {
      token: admin.token,
      payload: { public_email: email, commit_email: email },
    });
    const { write } = app.services.db;
    await sql`update users set unconfirmed_email = ${email} where id = ${user.id}`.execute(write);
    await sql`insert into mailed_links (digest, purpose, user_id, email, expires_at)
      values (${Buffer.from(email)}, 'confirm', ${user.id}, ${email}, now() + interval '1 day')`.execute(write);
    assert.equal((await app.delete(`/users/${user.id}/emails/${body.id}`, { token: admin.token })).status, 204);
    const view = (await app.get(`/users/${user.id}`, { token: admin.token })).body;
    assert.equal(view.public_email, null);
    assert.equal(view.commit_email, user.email);
    assert.equal("unconfirmed_email" in view, false);
    const { rows } = await sql`select from mailed_links where user_id = ${user.id}`.execute(write);
    assert.equal(rows.length, 0);
  });

  test("removing an address keeps other chosen addresses", async () => {
    const user = await app.makeUser();
    const { body } = await addTo(user.id, { email: address(), skip_confirmation: true });
    const payload = { public_email: user.email, commit_email: "_private" };
    await app.put(`/users/${user.id}`, { token: admin.token, payload });
    await app.delete(`/users/${user.id}/emails/${body.id}`, { token: admin.token });
    const view = (await app.get(`/users/${user.id}`, { token: admin.token })).body;
    assert.equal(view.public_email, user.email);
    assert.match(view.commit_email, /@users\.noreply\./);
  });

  test("a token with the scope read_user reads them", async () => {
    const user = await app.makeUser({}, ["read_user"]);
    assert.equal((await app.get("/user/emails", { token: user.token })).status, 200);
    assert.equal((await add(user, { email: address() })).status, 403);
    assert.equal((await app.get("/user/emails")).status, 401);
  });
});
