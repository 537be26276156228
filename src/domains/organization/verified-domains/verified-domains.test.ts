import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { type TestApp, type TestUser, testApp } from "#test/support/app.ts";
import { startDns, type TestDns } from "#test/support/dns.ts";
import { until } from "#test/support/until.ts";
import { recheckDomains } from "./jobs.ts";

describe("verified domains", () => {
  let dns: TestDns;
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    dns = await startDns();
    app = await testApp({ env: { FAIRLEAD_DNS_SERVERS: dns.server } });
    admin = await app.makeUser({ admin: true });
  });
  after(async () => {
    await app.close();
    await dns.stop();
  });

  const word = () => `d${randomUUID().slice(0, 8)}`;
  const newDomain = () => `${word()}.test`;

  /** A top-level group with its Owner, and what is asked of its domains. */
  async function makeGroup(owner?: TestUser) {
    const user = owner ?? (await app.makeUser());
    const { body } = await app.post("/groups", { token: user.token, payload: { name: word(), path: word() } });
    const path = `/groups/${body.id}/verified_domains`;
    return {
      id: body.id as number,
      owner: user,
      path,
      claim: (domain: string, token = user.token) => app.post(path, { token, payload: { domain } }),
      get: (id: number) => app.get(`${path}/${id}`, { token: user.token }),
      verify: (id: number, token = user.token) => app.post(`${path}/${id}/verify`, { token }),
    };
  }

  test("a domain is claimed, verified by its DNS record, and removed", async () => {
    const group = await makeGroup();
    const domain = newDomain();
    const made = await group.claim(` ${domain.toUpperCase()}. `);
    assert.equal(made.status, 201);
    const { id, created_at: _, dns_record: record, ...rest } = made.body;
    const unverified = { verified: false, verified_at: null, verified_by: null, last_checked_at: null };
    assert.deepEqual(rest, { domain, ...unverified, failing_since: null });
    assert.deepEqual([record.type, record.name], ["TXT", `_fairlead-verification.${domain}`]);
    assert.match(record.value, /^fairlead-domain-verification=[\da-f]{40}$/);

    await dns.serve({ [record.name]: ["something else", record.value] });
    const verified = await group.verify(id);
    assert.equal(verified.status, 200);
    assert.deepEqual([verified.body.verified, verified.body.verified_by], [true, "dns"]);
    assert.ok(verified.body.verified_at && verified.body.last_checked_at);
    assert.deepEqual((await group.get(id)).body, verified.body);
    assert.deepEqual((await app.get(group.path, { token: group.owner.token })).body, [verified.body]);

    assert.equal((await app.delete(`${group.path}/${id}`, { token: group.owner.token })).status, 204);
    const gone = await group.get(id);
    assert.deepEqual([gone.status, gone.body], [404, { message: "404 Domain Not Found" }]);
    assert.notEqual((await group.claim(domain)).body.dns_record.value, record.value);
  });

  test("without its record a domain is not verified, and the response has the expected and the found records", async () => {
    const group = await makeGroup();
    const { body } = await group.claim(newDomain());
    const { name, value } = body.dns_record;
    const refusal = async (id: number) => {
      const { status, body: told } = await group.verify(id);
      assert.equal(status, 400);
      return told.message;
    };
    const start = `400 Bad request - The TXT record ${value} was not found at ${name}: `;
    await dns.serve({});
    assert.equal(await refusal(body.id), `${start}the name has no TXT record`);
    await dns.serve({ [name]: [`${value}0`, "x"], [body.domain]: [value] });
    assert.equal(await refusal(body.id), `${start}the name has 2 TXT records, none of them this one`);
    const outside = await group.claim(`${word()}.example.com`);
    assert.match(await refusal(outside.body.id), /: no DNS server could tell$/);
    assert.equal((await group.get(body.id)).body.verified, false);
  });

  test("an administrator verifies without a record", async () => {
    const group = await makeGroup();
    const { body } = await group.claim(newDomain());
    const verified = await group.verify(body.id, admin.token);
    assert.deepEqual([verified.status, verified.body.verified_by], [200, "administrator"]);
    assert.equal(verified.body.last_checked_at, null);
  });

  test("invalid domains, public suffixes and mail services are refused", async () => {
    const group = await makeGroup();
    const refusal = async (domain: string) => {
      const { status, body } = await group.claim(domain);
      assert.equal(status, 400, domain);
      return body.message?.domain?.[0] ?? body.error;
    };
    for (const name of [
      ...["localhost", "com", "a..test", "-a.test", "a_b.test", "a b.test", "a.test/x", "a.test:80", "user@a.test"],
      ...["127.0.0.1", "127.1", "0x7f.1", "[::1]", "%61.test", "a.7", "*.test", `${"x".repeat(64)}.test`],
      ...[`${"x.".repeat(120)}test`, "a\u0000.test"],
    ]) {
      assert.match(await refusal(name), /is not a domain name|^(domain|.*NUL.*)/, name);
    }
    for (const name of ["gmail.com", "GMAIL.com.", "mail.gmail.com", "outlook.com", "co.uk", "ｇｍａｉｌ.com"]) {
      assert.equal(await refusal(name), "is open to everyone and cannot be claimed", name);
    }
    assert.equal((await group.claim(`bücher-${word()}.test`)).body.domain.startsWith("xn--"), true);
    assert.equal((await group.claim(`notgmail-${word()}.com`)).status, 201);
  });

  test("unverified claims block nobody, but only one group can verify a domain", async () => {
    const [owner, stranger, third] = [await makeGroup(), await makeGroup(), await makeGroup()];
    const domain = newDomain();
    const taken = { message: { domain: ["has already been taken"] } };
    const { body: foreign } = await stranger.claim(domain);
    const { body: own } = await owner.claim(domain);
    assert.deepEqual((await owner.claim(domain)).body, taken);
    assert.equal((await owner.verify(own.id, admin.token)).status, 200);
    const late = await stranger.verify(foreign.id, admin.token);
    assert.deepEqual([late.status, late.body], [400, taken]);
    assert.deepEqual((await third.claim(domain)).body, taken);
    await app.delete(`${owner.path}/${own.id}`, { token: owner.owner.token });
    assert.equal((await stranger.verify(foreign.id, admin.token)).status, 200);
  });

  test("of two groups that verify a domain at once one succeeds", async () => {
    const groups = [await makeGroup(), await makeGroup()];
    const domain = newDomain();
    const claims = await Promise.all(groups.map((group) => group.claim(domain)));
    const records = claims.map(({ body }) => body.dns_record);
    await dns.serve({ [records[0].name]: records.map(({ value }) => value) });
    const answers = await Promise.all(groups.map((group, index) => group.verify(claims[index]?.body.id)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400],
    );
  });

  test("a group has at most 20 domains, also with concurrent requests", async () => {
    const group = await makeGroup();
    await sql`insert into verified_domains (group_id, domain, verification_code)
      select ${group.id}, 'n' || n || '.test', 'x' from generate_series(1, 19) n`.execute(app.services.db.write);
    const answers = await Promise.all([1, 2, 3].map(() => group.claim(newDomain())));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 400, 400],
    );
    assert.deepEqual(answers.find(({ status }) => status === 400)?.body, {
      message: { base: ["a group may have at most 20 domains"] },
    });
  });

  test("only Owners of a top-level group have access, and only to its own domains", async () => {
    const [group, other] = [await makeGroup(), await makeGroup()];
    const { body: domain } = await group.claim(newDomain());
    const maintainer = await app.makeUser();
    const payload = { user_id: maintainer.id, access_level: 40 };
    await app.post(`/groups/${group.id}/members`, { token: group.owner.token, payload });
    for (const path of [group.path, `${group.path}/${domain.id}`]) {
      assert.equal((await app.get(path, { token: maintainer.token })).status, 403);
      assert.equal((await app.get(path)).status, 401);
      assert.equal((await app.get(path, { token: other.owner.token })).status, 404);
    }
    for (const [method, path] of [
      ["GET", `${other.path}/${domain.id}`],
      ["DELETE", `${other.path}/${domain.id}`],
      ["POST", `${other.path}/${domain.id}/verify`],
    ] as const) {
      const { status, body } = await app.call(method, path, { token: admin.token });
      assert.deepEqual([status, body], [404, { message: "404 Domain Not Found" }]);
    }
    const { body: below } = await app.post("/groups", {
      token: group.owner.token,
      payload: { name: word(), path: word(), parent_id: group.id },
    });
    for (const token of [group.owner.token, admin.token]) {
      assert.equal((await app.get(`/groups/${below.id}/verified_domains`, { token })).status, 400);
    }
  });

  test("a group that is moved into another loses its domains", async () => {
    const owner = await app.makeUser();
    const [group, above, next] = [await makeGroup(owner), await makeGroup(owner), await makeGroup()];
    const domain = newDomain();
    const { body } = await group.claim(domain);
    await group.verify(body.id, admin.token);
    const moved = await app.post(`/groups/${group.id}/transfer`, {
      token: owner.token,
      payload: { group_id: above.id },
    });
    assert.equal(moved.status, 201);
    assert.equal((await next.claim(domain)).status, 201);
  });

  test("every write is in the audit log of the group", async () => {
    const group = await makeGroup();
    const { body } = await group.claim(newDomain());
    await group.verify(body.id, admin.token);
    await app.delete(`${group.path}/${body.id}`, { token: group.owner.token });
    const events = await eventsOf(body.id);
    assert.deepEqual(
      events.map(({ event, entity_id }) => [event, entity_id]),
      ["verified_domain_added", "verified_domain_verified", "verified_domain_removed"].map((e) => [e, group.id]),
    );
  });

  const eventsOf = (id: number) =>
    app.services.db.write
      .selectFrom("audit_events")
      .select(["event", "entity_id", "actor_id"])
      .where("target_type", "=", "VerifiedDomain")
      .where("target_id", "=", id)
      .orderBy("id")
      .execute();

  async function recheck() {
    await app.services.db.transaction((tx) => app.services.jobs.add(tx, recheckDomains, {}));
    const worker = await runWorker(app.services, [recheckDomains], { queues: ["bulk"] });
    try {
      await until("the job is done", async () => {
        const { rows } = await sql<{ left: boolean }>`select exists (select from jobs.job
          where data->>'job' = ${recheckDomains.name}) as left`.execute(app.services.db.write);
        return rows[0]?.left === false;
      });
    } finally {
      await worker.stop();
    }
  }

  test("the record is rechecked daily; after a week without it the domain is no longer verified", async () => {
    const group = await makeGroup();
    const { write } = app.services.db;
    const age = (id: number, column: "last_checked_at" | "failing_since", hours: number) =>
      sql`update verified_domains set ${sql.ref(column)} = now() - make_interval(hours => ${hours}) where id = ${id}`.execute(
        write,
      );
    const claims = await Promise.all(Array.from({ length: 4 }, () => group.claim(newDomain())));
    const [kept, lost, young, vouched] = claims.map(({ body }) => body);
    await dns.serve(Object.fromEntries(claims.map(({ body }) => [body.dns_record.name, [body.dns_record.value]])));
    for (const { id } of [kept, lost, young]) assert.equal((await group.verify(id)).status, 200);
    await group.verify(vouched.id, admin.token);

    await dns.serve({ [kept.dns_record.name]: [kept.dns_record.value] });
    for (const { id } of [kept, lost, vouched]) await age(id, "last_checked_at", 24);
    await recheck();
    const after = async ({ id }: { id: number }) => (await group.get(id)).body;
    assert.deepEqual([(await after(kept)).verified, (await after(kept)).failing_since], [true, null]);
    const failing = await after(lost);
    assert.equal(failing.verified, true);
    assert.ok(Date.now() - Date.parse(failing.failing_since) < 60_000);
    assert.deepEqual([(await after(young)).failing_since, (await after(vouched)).failing_since], [null, null]);

    await age(lost.id, "last_checked_at", 24);
    await age(lost.id, "failing_since", 24 * 6);
    await recheck();
    const sixth = await after(lost);
    assert.equal(sixth.verified, true);
    assert.ok(Date.now() - Date.parse(sixth.failing_since) > 5 * 86_400_000);

    for (const { id } of [lost, kept]) {
      await age(id, "last_checked_at", 24);
      await age(id, "failing_since", 24 * 8);
    }
    await recheck();
    assert.deepEqual([(await after(kept)).verified, (await after(kept)).failing_since], [true, null]);
    const ended = await after(lost);
    assert.deepEqual([ended.verified, ended.verified_by, ended.failing_since], [false, null, null]);
    const [last] = (await eventsOf(lost.id)).slice(-1);
    assert.deepEqual(last, { event: "verified_domain_lost", entity_id: group.id, actor_id: null });
    assert.equal((await eventsOf(kept.id)).length, 2);
  });
});
