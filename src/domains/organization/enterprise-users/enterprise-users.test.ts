import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { type Insertable, sql } from "kysely";
import type { Database } from "#db/types.ts";
import { type Reply, type TestApp, type TestUser, testApp } from "#test/support/app.ts";

describe("enterprise users", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const word = () => `e${randomUUID().slice(0, 8)}`;
  const ids = ({ body }: Reply): number[] => body.map(({ id }: { id: number }) => id);

  /** A top-level group with an Owner who is nobody's enterprise user, and a verified domain. */
  async function makeGroup({ verified = true } = {}) {
    const owner = await app.makeUser();
    const { body } = await app.post("/groups", { token: owner.token, payload: { name: word(), path: word() } });
    const id: number = body.id;
    const domain = `${word()}.test`;
    await sql`insert into verified_domains (group_id, domain, verification_code, verified_at, verified_by)
      values (${id}, ${domain}, 'x', case when ${verified} then now() end, case when ${verified} then 'dns' end)`.execute(
      app.services.db.write,
    );
    const path = `/groups/${id}/enterprise_users`;
    return {
      id,
      owner,
      domain,
      path,
      person: (columns: Partial<Insertable<Database["users"]>> = {}) =>
        app.makeUser({ email: `${word()}@${domain}`, ...columns }),
      list: (query: Record<string, string> = {}, token = owner.token) => app.get(path, { token, query }),
      get: (userId: number, token = owner.token) => app.get(`${path}/${userId}`, { token }),
      disable: (userId: number, token = owner.token) =>
        app.call("PATCH", `${path}/${userId}/disable_two_factor`, { token }),
    };
  }

  const withSecondFactor = (columns: Partial<Insertable<Database["users"]>> = {}) => ({
    two_factor_enabled: true,
    ...columns,
  });

  test("are the people whose confirmed address is in a verified domain of the group, newest first", async () => {
    const group = await makeGroup();
    const [first, second] = [await group.person({ email: `Ada@${group.domain.toUpperCase()}` }), await group.person()];
    const others = [
      await group.person({ confirmed_at: null }),
      await group.person({ admin: true }),
      await group.person({ user_type: "service_account" }),
      await group.person({ removal_began_at: sql`now()` as never }),
      await app.makeUser({ email: `${word()}@sub.${group.domain}` }),
      await app.makeUser({ email: `${word()}@not${group.domain}` }),
      await app.makeUser({ unconfirmed_email: `${word()}@${group.domain}` }),
    ];
    const answer = await group.list();
    assert.deepEqual([answer.status, ids(answer)], [200, [second.id, first.id]]);
    assert.deepEqual((await group.get(first.id)).body, answer.body[1]);
    for (const { id } of [...others, group.owner, { id: 4503599627370495 }]) {
      const { status, body } = await group.get(id);
      assert.deepEqual([status, body], [404, { message: "404 Not found" }]);
    }
    assert.deepEqual(ids(await group.list({}, admin.token)), [second.id, first.id]);
  });

  test("include users whom the group provisioned, unless another group verified their domain", async () => {
    const [group, other] = [await makeGroup(), await makeGroup()];
    const byGroup = { provisioned_by_group_id: group.id };
    const outside = await app.makeUser(byGroup);
    const both = await group.person(byGroup);
    const unconfirmed = await other.person({ ...byGroup, confirmed_at: null });
    const claimed = await other.person(byGroup);
    await app.makeUser({ ...byGroup, user_type: "service_account" });
    await app.makeUser({ ...byGroup, admin: true });
    assert.deepEqual(ids(await group.list()), [unconfirmed.id, both.id, outside.id]);
    assert.equal((await group.list({ per_page: "1" })).headers["x-total"], "3");
    assert.deepEqual(ids(await other.list()), [claimed.id]);
    for (const { id } of [outside, both, unconfirmed]) {
      assert.deepEqual([(await group.get(id)).status, (await other.get(id)).status], [200, 404]);
    }
    assert.deepEqual([(await group.get(claimed.id)).status, (await other.get(claimed.id)).status], [404, 200]);
  });

  test("an unverified domain has no enterprise users, nor does one that is no longer verified", async () => {
    const group = await makeGroup({ verified: false });
    const { id } = await group.person();
    const seen = async () => [(await group.list()).body.length, (await group.get(id)).status];
    const verify = (by: string | null) =>
      sql`update verified_domains set verified_at = case when ${by}::text is not null then now() end, verified_by = ${by}
        where group_id = ${group.id}`.execute(app.services.db.write);
    assert.deepEqual(await seen(), [0, 404]);
    await verify("dns");
    assert.deepEqual(await seen(), [1, 200]);
    await verify(null);
    assert.deepEqual(await seen(), [0, 404]);
  });

  test("the view is that of the current user, with limits and identities", async () => {
    const group = await makeGroup();
    const user = await group.person({ shared_runners_minutes_limit: 7 });
    const identity = { provider: "group_saml", extern_uid: word(), saml_provider_id: group.id };
    await app.services.db.write
      .insertInto("identities")
      .values({ user_id: user.id, ...identity })
      .execute();
    const { body } = await group.get(user.id);
    const { body: own } = await app.get("/user", { token: user.token });
    const limits = { shared_runners_minutes_limit: 7, extra_shared_runners_minutes_limit: null, scim_identities: [] };
    assert.deepEqual(body, { ...own, ...limits, last_activity_on: body.last_activity_on });
    assert.deepEqual([body.email, body.identities], [user.email, [identity]]);
  });

  test("each filter works alone and together with the others", async () => {
    const group = await makeGroup();
    const ada = await group.person({ name: "Ada Lovelace", username: word(), two_factor_enabled: true });
    const blocked = await group.person({ name: "Bob Bauer", state: "blocked", created_at: "2020-01-01T00:00:00Z" });
    const ldap = await group.person({ state: "ldap_blocked", provisioned_by_group_id: group.id });
    const away = await app.makeUser({ name: "Ada Away", state: "deactivated", provisioned_by_group_id: group.id });
    const everyone = [away.id, ldap.id, blocked.id, ada.id];
    const cases: [Record<string, string>, number[]][] = [
      [{}, everyone],
      [{ username: ada.username.toUpperCase() }, [ada.id]],
      [{ username: group.owner.username }, []],
      [{ active: "true" }, [ada.id]],
      [{ active: "false" }, everyone],
      [{ blocked: "true" }, [ldap.id, blocked.id]],
      [{ active: "true", blocked: "true" }, []],
      [{ two_factor: "enabled" }, [ada.id]],
      [{ two_factor: "disabled" }, [away.id, ldap.id, blocked.id]],
      [{ two_factor: "other" }, everyone],
      [{ created_before: "2020-01-01T00:00:00Z" }, [blocked.id]],
      [{ created_after: "2020-01-01T00:00:01Z" }, [away.id, ldap.id, ada.id]],
      [{ search: "ada" }, [away.id, ada.id]],
      [{ search: "love ada" }, [ada.id]],
      [{ search: "ada", two_factor: "disabled" }, [away.id]],
      [{ search: " " }, everyone],
      [{ search: "zzzzzz" }, []],
      [{ search: "ve" }, [ada.id]],
      [{ search: "aw ad" }, [away.id]],
    ];
    for (const [query, expected] of cases) {
      assert.deepEqual(ids(await group.list(query)), expected, JSON.stringify(query));
    }
  });

  test("a search finds part of an address, in any case, and treats it as plain text", async () => {
    const group = await makeGroup();
    const user = await group.person({ email: `odd_name.${word()}@${group.domain}`, name: "Nobody" });
    const other = await group.person({ name: "Nobody" });
    for (const [search, expected] of [
      [`D_NAME`, [user.id]],
      [user.email, [user.id]],
      [`@${group.domain.slice(0, 6)}`, [other.id, user.id]],
      [group.domain, [other.id, user.id]],
      ["d_nam%", []],
      ["d%name", []],
      ["no", [other.id, user.id]],
      ["D_", [user.id]],
      ["%", []],
    ] as const) {
      assert.deepEqual(ids(await group.list({ search })), expected, search);
    }
  });

  test("support offset and keyset paging", async () => {
    const group = await makeGroup();
    const people = [
      await group.person(),
      await app.makeUser({ provisioned_by_group_id: group.id }),
      await group.person(),
    ];
    const expected = people.map(({ id }) => id).toReversed();
    for (const filter of [{}, { active: "true" }]) {
      const second = await group.list({ ...filter, per_page: "1", page: "2" });
      assert.deepEqual(ids(second), [expected[1]]);
      assert.deepEqual([second.headers["x-total"], second.headers["x-next-page"]], ["3", "3"]);
      const seen: number[] = [];
      let next: Reply = await group.list({ ...filter, per_page: "2", pagination: "keyset" });
      for (let pages = 0; next.body.length > 0 && pages < 5; pages++) {
        seen.push(...ids(next));
        const link = /<([^>]+)>; rel="next"/.exec(next.headers["link"] ?? "")?.[1] ?? "";
        next = await app.get(link.replace(/^https?:\/\/[^/]+/, ""), { token: group.owner.token });
      }
      assert.deepEqual(seen, expected);
    }
  });

  test("more matches than the limit of candidates are scanned, without a total", async () => {
    const group = await makeGroup();
    await app.services.db.transaction(async (tx) => {
      await sql`set local statement_timeout = 0`.execute(tx);
      await sql`with spaces as (insert into namespaces (path, name)
          select ${`${group.domain}-`} || n, 'x' from generate_series(1, 10050) n returning id, path)
        insert into users (username, name, email, confirmed_at, namespace_id)
        select path, case when id % 8 = 0 then 'Eighth ' else '' end || 'Walker', path || '@' || ${group.domain}::text,
          now(), id from spaces`.execute(tx);
    });
    const last = await group.person({ name: "Walker" });
    const made = { name: "Walker", provisioned_by_group_id: group.id };
    const [third, second, few] = [await app.makeUser(made), await app.makeUser(made), await app.makeUser(made)];
    for (const query of [{ search: "walker" }, { active: "true" }, { search: group.domain }]) {
      const found = await group.list({ ...query, per_page: "2" });
      if (query.search === group.domain) assert.equal(ids(found)[0], last.id);
      else assert.deepEqual(ids(found), [few.id, second.id]);
      assert.deepEqual([found.headers["x-total"], found.headers["x-next-page"]], [undefined, "2"]);
      assert.equal((await group.list({ ...query, per_page: "5" })).body.length, 5);
      assert.equal((await group.list({ ...query, per_page: "100", page: "100" })).body.length, 100);
      assert.equal((await group.list({ ...query, per_page: "100", page: "501" })).status, 405);
    }
    const eighth = await group.list({ search: "eighth", per_page: "100", page: "2" });
    assert.deepEqual([eighth.body.length, Math.abs(Number(eighth.headers["x-total"]) - 1256) < 2], [100, true]);
    assert.deepEqual(ids(await group.list({ active: "true", blocked: "true" })), []);
    const beyond = await group.list({ per_page: "100", page: "101" });
    assert.deepEqual([beyond.status, beyond.body.length], [200, 54]);
    assert.deepEqual(ids(await group.list({ per_page: "4" })), [few.id, second.id, third.id, last.id]);
  });

  test("the second factor is disabled once, with an event in the audit log of the group", async () => {
    const group = await makeGroup();
    const user = await group.person(withSecondFactor());
    const done = await group.disable(user.id);
    assert.deepEqual([done.status, done.text], [204, ""]);
    assert.equal((await group.get(user.id)).body.two_factor_enabled, false);
    const again = await group.disable(user.id);
    const text = "400 Bad request - Two-factor authentication is not enabled for this user";
    assert.deepEqual([again.status, again.body], [400, { message: text }]);
    const { body: events } = await app.get(`/groups/${group.id}/audit_events`, { token: group.owner.token });
    const found = events.filter(({ event_name }: { event_name: string }) => event_name === "user_two_factor_disabled");
    assert.deepEqual(
      found.map((event: any) => [event.author_id, event.details.target_id]),
      [[group.owner.id, user.id]],
    );
  });

  test("only Owners disable the second factor of their enterprise users, and never an administrator's", async () => {
    const [group, other] = [await makeGroup(), await makeGroup()];
    const user = await group.person(withSecondFactor());
    const foreign = await other.person(withSecondFactor());
    const theirAdmin = await group.person(withSecondFactor({ admin: true }));
    const otherAdmin = await other.person(withSecondFactor({ admin: true }));
    const missing = await group.disable(4503599627370495);
    const leaving = await group.person(withSecondFactor({ removal_began_at: sql`now()` as never }));
    for (const { id } of [foreign, otherAdmin, leaving, await app.makeUser(withSecondFactor())]) {
      const answer = await group.disable(id);
      assert.deepEqual([answer.status, answer.text], [404, missing.text]);
    }
    assert.equal((await group.disable(theirAdmin.id)).status, 403);
    assert.equal((await group.disable(theirAdmin.id, admin.token)).status, 403);

    const [maintainer, below] = [await app.makeUser(), await app.makeUser()];
    const add = (groupId: number, member: TestUser, access_level: number) =>
      app.post(`/groups/${groupId}/members`, {
        token: group.owner.token,
        payload: { user_id: member.id, access_level },
      });
    const { body: subgroup } = await app.post("/groups", {
      token: group.owner.token,
      payload: { name: word(), path: word(), parent_id: group.id },
    });
    await add(group.id, maintainer, 40);
    await add(subgroup.id, below, 50);
    for (const { token } of [maintainer, below]) {
      assert.equal((await group.disable(user.id, token)).status, 403);
      assert.equal((await group.list({}, token)).status, 403);
      assert.equal((await group.get(user.id, token)).status, 403);
    }
    assert.equal((await group.disable(user.id, other.owner.token)).status, 404);
    assert.equal((await app.get(group.path)).status, 401);
    for (const path of ["enterprise_users", `enterprise_users/${user.id}`, "saml_users"]) {
      assert.equal((await app.get(`/groups/${subgroup.id}/${path}`, { token: below.token })).status, 400);
    }
    const left = await app.services.db.write
      .selectFrom("users")
      .select("two_factor_enabled")
      .where("id", "in", [user.id, foreign.id, theirAdmin.id, otherAdmin.id])
      .execute();
    assert.deepEqual(
      left.map(({ two_factor_enabled }) => two_factor_enabled),
      [true, true, true, true],
    );
  });

  test("SAML users are all users with an identity of the group", async () => {
    const [group, other] = [await makeGroup(), await makeGroup()];
    const link = (user: TestUser, provider: string, saml_provider_id: number | null) =>
      app.services.db.write
        .insertInto("identities")
        .values({ user_id: user.id, provider, extern_uid: word(), saml_provider_id })
        .execute();
    const linked = await app.makeUser({ name: "Grace Hopper" });
    const blocked = await group.person({ state: "blocked" });
    for (const user of [linked, blocked]) await link(user, "group_saml", group.id);
    await link(linked, "group_saml", other.id);
    await link(await app.makeUser(), "group_saml", other.id);
    await link(await app.makeUser(), "ldapmain", null);
    await group.person();
    const path = `/groups/${group.id}/saml_users`;
    const list = (query: Record<string, string> = {}) => app.get(path, { token: group.owner.token, query });
    const all = await list();
    assert.deepEqual([all.status, ids(all)], [200, [blocked.id, linked.id]]);
    assert.deepEqual([all.body[1].email, all.body[1].identities.length], [linked.email, 2]);
    for (const [query, expected] of [
      [{ active: "true" }, [linked.id]],
      [{ blocked: "true" }, [blocked.id]],
      [{ search: "hopp" }, [linked.id]],
      [{ search: linked.email.slice(2) }, [linked.id]],
      [{ username: blocked.username }, [blocked.id]],
      [{ created_before: "2020-01-01" }, []],
    ] as const) {
      assert.deepEqual(ids(await list(query)), expected, JSON.stringify(query));
    }
    const second = await list({ per_page: "1", page: "2" });
    assert.deepEqual([ids(second), second.headers["x-total"]], [[linked.id], "2"]);
    assert.equal((await app.get(path, { token: other.owner.token })).status, 404);
  });

  test("belong to the hosted offering and the premium plan", async () => {
    const { path, id, owner } = await makeGroup();
    for (const [env, status, saml] of [
      [{ FAIRLEAD_OFFERING: "self-managed" }, 404, 200],
      [{ FAIRLEAD_PLAN: "free" }, 403, 403],
      [{ FAIRLEAD_OFFERING: "hosted", FAIRLEAD_PLAN: "premium" }, 200, 200],
    ] as const) {
      const some = await testApp({ env });
      try {
        assert.equal((await some.get(path, { token: owner.token })).status, status);
        assert.equal((await some.get(`/groups/${id}/saml_users`, { token: owner.token })).status, saml);
      } finally {
        await some.close();
      }
    }
  });
});
