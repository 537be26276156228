import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { testDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { item, post, type Receiving, receivingApp, webhook } from "./test-support.ts";
import { WRITE_REPORTS } from "./write.ts";
import { readGeneric } from "#domains/monitoring/alert-payloads/generic.ts";

const RESOLVED = { status: "resolved", endsAt: "2026-05-04T11:00:00Z" };
const STATUS = { triggered: 0, acknowledged: 1, resolved: 2, ignored: 3 } as const;

describe("alerts that arrive", () => {
  let on: Receiving;
  before(async () => {
    on = await receivingApp();
  });
  after(() => on.app.close());

  const setStatus = (project: number, status: keyof typeof STATUS) =>
    sql`update alerts set status = ${STATUS[status]}, ended_at = ${status === "resolved" ? sql`now()` : null}
      where project_id = ${project}`.execute(on.app.services.db.write);

  test("have every field of their payload", async () => {
    const to = await on.receiver();
    const before = Date.now();
    await on.send(to, {
      ...{ title: "Disk full", description: "No space", start_time: "2026-05-04T08:00:00Z", service: "mail" },
      ...{ monitoring_tool: "curl", hosts: ["a", "b\nc"], severity: "low", platform_environment_name: "production" },
      ...{ runbook: "https://example.com", custom: { nested: [1, null, "ü"] }, fingerprint: "disk" },
    });
    await on.send(to, {});
    const [full, empty] = await on.alertsOf(to.project);
    assert.deepEqual(
      [full?.title, full?.description, full?.started_at, full?.service, full?.monitoring_tool, full?.severity],
      ["Disk full", "No space", "2026-05-04T08:00:00.000Z", "mail", "curl", 3],
    );
    assert.deepEqual(
      [full?.hosts, full?.environment_name, full?.runbook, full?.integration_id, full?.status, full?.event_count],
      [["a", "b c"], "production", "https://example.com", to.id, 0, 1],
    );
    assert.deepEqual(JSON.parse(full?.payload ?? "").custom, { nested: [1, null, "ü"] });
    assert.deepEqual(full?.grouped_by, { by: "fingerprint", value: "disk" });
    assert.deepEqual(
      [empty?.title, empty?.hosts, empty?.severity, empty?.fingerprint, empty?.payload],
      ["New: Alert", [], 0, null, "{}"],
    );
    assert.ok(Math.abs(Date.parse(empty?.started_at ?? "") - before) < 60_000);
  });

  test("again are counted, whoever works on them, and change nothing else", async () => {
    const to = await on.receiver();
    const first = { title: "Disk", fingerprint: "disk", severity: "low", start_time: "2026-05-04T08:00:00Z" };
    const again = { title: "Other title", fingerprint: ["disk"], severity: "high", extra: 1 };
    await on.send(to, first);
    for (const status of ["triggered", "acknowledged", "ignored"] as const) {
      await setStatus(to.project, status);
      const { body } = await on.send(to, again);
      assert.deepEqual(body, [{ iid: 1, title: "Disk" }], status);
    }
    const [alert, ...others] = await on.alertsOf(to.project);
    assert.deepEqual([alert?.event_count, alert?.severity, alert?.status, others.length], [4, 3, 3, 0]);
    assert.deepEqual(JSON.parse(alert?.payload ?? ""), first);
    // A repeat takes no number.
    assert.deepEqual((await on.send(to, { title: "New" })).body, [{ iid: 2, title: "New" }]);
  });

  test("with an end resolve what is open, and create nothing where nothing is", async () => {
    const to = await on.receiver();
    const ended = { title: "Disk", end_time: "2026-05-04T11:00:00Z" };
    assert.deepEqual([(await on.send(to, ended)).status, (await on.send(to, ended)).body], [200, []]);
    await on.send(to, { title: "Disk", hosts: ["a"] });
    assert.deepEqual((await on.send(to, ended)).body, [{ iid: 1, title: "Disk" }]);
    assert.deepEqual((await on.send(to, ended)).body, []);
    const [alert] = await on.alertsOf(to.project);
    assert.deepEqual([alert?.status, alert?.ended_at, alert?.event_count], [2, "2026-05-04T11:00:00.000Z", 1]);
    const shown = await on.app.get(`/projects/${to.project}/alerts/1`, { token: on.maintainer.token });
    assert.deepEqual(
      [shown.body.status, shown.body.timeline.length, shown.body.timeline[0].action, shown.body.timeline[0].user],
      ["resolved", 1, "recovered", null],
    );
    // Resolved and then reported again is a new alert.
    assert.deepEqual((await on.send(to, { title: "Disk" })).body, [{ iid: 2, title: "Disk" }]);
    assert.deepEqual(
      (await on.alertsOf(to.project)).map(({ status }) => status),
      [2, 0],
    );
  });

  test("of a group each go their own way, whatever the group says", async () => {
    const to = await on.receiver({ type: "prometheus" });
    await on.send(to, webhook([item("One"), item("Two"), item("Three")]));
    const mixed = [item("One"), item("Two", RESOLVED), { labels: {} }, null, item("Four"), item("Nobody", RESOLVED)];
    const { status, body } = await on.send(to, webhook(mixed, { status: "resolved" }));
    assert.deepEqual(
      [status, body],
      [
        200,
        [
          { iid: 1, title: "One" },
          { iid: 2, title: "Two" },
          { iid: 4, title: "Four" },
        ],
      ],
    );
    const alerts = await on.alertsOf(to.project);
    assert.deepEqual(
      alerts.map((alert) => [alert.title, alert.status, alert.event_count]),
      [
        ["One", 0, 2],
        ["Two", 2, 1],
        ["Three", 0, 1],
        ["Four", 0, 1],
      ],
    );
    assert.match(on.app.logged.join(""), /"skipped":2.*could not be read/);
    assert.deepEqual([(await on.send(to, webhook([]))).status, (await on.send(to, webhook([]))).body], [200, []]);
  });

  test("firing with an end in year 1 stay open", async () => {
    const to = await on.receiver();
    await on.send(to, webhook([item("Zero")]));
    const [alert] = await on.alertsOf(to.project);
    assert.deepEqual([alert?.status, alert?.ended_at], [0, null]);
  });

  test("with the same fingerprint are one alert of a project, whichever integration brings them", async () => {
    const [one, elsewhere] = [await on.receiver(), await on.receiver()];
    const two = await on.receiver({ name: "Other" }, one.project);
    const answers = [one, two, elsewhere].map((to) => on.send(to, { fingerprint: "f", title: "Shared" }));
    for (const { body } of await Promise.all(answers)) assert.deepEqual(body, [{ iid: 1, title: "Shared" }]);
    assert.deepEqual(
      (await on.alertsOf(one.project)).map(({ event_count }) => event_count),
      [2],
    );
    await on.send(two, { fingerprint: "f", end_time: "2026-05-04T11:00:00Z" });
    assert.equal((await on.alertsOf(one.project))[0]?.status, 2);
    assert.equal((await on.alertsOf(elsewhere.project))[0]?.status, 0);
  });

  test("stay when their integration is deleted", async () => {
    const to = await on.receiver();
    await on.send(to, { title: "Stays" });
    const { token } = on.maintainer;
    const deleted = await on.app.delete(`/projects/${to.project}/alert_integrations/${to.id}`, { token });
    assert.equal(deleted.status, 204);
    assert.equal((await on.send(to, { title: "Stays" })).status, 401);
    const { body } = await on.app.get(`/projects/${to.project}/alerts`, { token });
    assert.deepEqual([body.length, body[0].title, body[0].integration], [1, "Stays", null]);
  });

  test("that nothing identifies are never grouped", async () => {
    const to = await on.receiver();
    const answers = await Promise.all([{}, { hosts: "a" }, { title: " " }].map((body) => on.send(to, body)));
    assert.deepEqual(new Set(answers.map(({ body }) => body[0].iid)), new Set([1, 2, 3]));
  });

  test("are read as the integration's mapping says", async () => {
    const to = await on.receiver({
      payload_attribute_mappings: [
        { field_name: "title", path: ["event", "subject"], type: "string" },
        { field_name: "fingerprint", path: ["event", "id"], type: "string" },
      ],
    });
    await on.send(to, { event: { subject: "Mapped", id: 7 }, x: 1 });
    assert.deepEqual((await on.send(to, { event: { id: "7" } })).body, [{ iid: 1, title: "Mapped" }]);
  });

  test("without a fingerprint are told apart by their payload only as long as the installation wants that", async () => {
    const to = await on.receiver();
    const { token } = await on.app.makeUser({ admin: true });
    const set = async (wanted: boolean) => {
      await on.app.put("/application/settings", { token, payload: { generic_alert_fingerprinting: wanted } });
      await until("the setting is read", async () => {
        const { generic_alert_fingerprinting: now } = await on.app.services.settings.current();
        return now === wanted;
      });
    };
    await set(false);
    try {
      const iids = [await on.send(to, { title: "x" }), await on.send(to, { title: "x" })].map(
        ({ body }) => body[0].iid,
      );
      assert.deepEqual(iids, [1, 2]);
    } finally {
      await set(true);
    }
  });
});

describe("hostile bodies", () => {
  let on: Receiving;
  before(async () => {
    on = await receivingApp();
  });
  after(() => on.app.close());

  test("that are no JSON object are 400, of any content type", async () => {
    const to = await on.receiver();
    for (const body of [
      "",
      "{",
      "null",
      "7",
      '"text"',
      "[]",
      "title=x",
      '{"title":"x"',
      Buffer.from([0x1f, 0x8b, 8]),
      "{}{}",
    ]) {
      const { status } = await on.send(to, body);
      assert.equal(status, 400, String(body));
    }
    for (const type of ["text/plain", "application/octet-stream", "multipart/form-data", undefined]) {
      const { statusCode } = await on.app.app.inject({
        ...{ method: "POST", url: to.path, payload: '{"title":"Typed"}' },
        headers: { authorization: `Bearer ${to.key}`, ...(type !== undefined && { "content-type": type }) },
      });
      assert.equal(statusCode, 200, String(type));
    }
    assert.deepEqual(
      (await on.alertsOf(to.project)).map(({ event_count }) => event_count),
      [4],
    );
  });

  test("with what PostgreSQL cannot store are repaired or refused, never an error", async () => {
    const to = await on.receiver();
    const odd = [
      String.raw`{"title":"a\u0000b","x\u0000":"\ud800"}`,
      String.raw`{"title":"\udfff","fingerprint":"\u0000"}`,
      '{"__proto__":{"title":"x"},"constructor":1,"prototype":[],"title":"keys"}',
      '{"title":"twice","title":"again"}',
      `{"title":"long fingerprint","fingerprint":"${"f".repeat(100_000)}"}`,
      '{"title":"late","start_time":"294277-01-01T00:00:00Z","end_time":"999999-01-01"}',
      '{"title":"number","n":1e300,"m":-0,"k":123456789012345678901234567890}',
      `{"title":"deep","x":${"[".repeat(98)}${"]".repeat(98)}}`,
      `{"title":"${"t".repeat(300_000)}","hosts":${JSON.stringify(Array.from({ length: 9000 }, () => "h"))}}`,
      '{"title":["list"],"description":{"a":1},"hosts":{"a":1},"severity":[],"service":false}',
    ];
    for (const body of odd) assert.equal((await on.send(to, body)).status, 200, body.slice(0, 80));
    assert.equal((await on.alertsOf(to.project)).length, odd.length);
    for (const body of [`{"x":${"[".repeat(120)}${"]".repeat(120)}}`, '{"x":1e400}', `{"x":${"9".repeat(1001)}}`])
      assert.equal((await on.send(to, body)).status, 400, body.slice(0, 40));
    const items = [item("ok"), item("\0"), item("x", { labels: { alertname: "y".repeat(5000), "\0": "\ud800" } })];
    assert.equal((await on.send(to, webhook(items))).status, 200);
  });

  test("of more than a MiB: one alert is 413, one item is skipped and the others are not", async () => {
    const to = await on.receiver();
    const large = "x".repeat(2 ** 20);
    assert.equal((await on.send(to, { title: "Large", large })).status, 413);
    const annotations = { summary: "Large", large };
    const { status, body } = await on.send(to, webhook([item("One"), item("Large", { annotations }), item("Two")]));
    assert.deepEqual([status, body.map(({ title }: { title: string }) => title)], [200, ["One", "Two"]]);
  });

  test("with thousands of items are stored whole", async () => {
    const to = await on.receiver();
    const items = Array.from({ length: 3000 }, (_, at) => item(`Alert ${at}`));
    const { status, body } = await on.send(to, webhook(items));
    assert.deepEqual([status, body.length], [200, 3000]);
    assert.deepEqual(
      (await on.alertsOf(to.project)).map(({ iid, title }) => `${iid} ${title}`),
      items.map(({ labels }, at) => `${at + 1} ${labels.alertname}`),
    );
  });
});

describe("alerts that arrive at the same time", () => {
  let on: Receiving;
  let other: TestApp;
  before(async () => {
    const databaseUrl = await testDatabase();
    [on, other] = [await receivingApp({ databaseUrl }), await testApp({ databaseUrl })];
  });
  after(async () => {
    await other.close();
    await on.app.close();
  });

  test("and are the same are one alert, with every report counted, in two processes", async () => {
    const to = await on.receiver();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        post(at % 2 ? on.app : other, to.path, `Bearer ${to.key}`, { title: "Same" }),
      ),
    );
    const iids = new Set(answers.map(({ status, body }) => `${status} ${body[0].iid}`));
    assert.equal(iids.size, 1);
    const alerts = await on.alertsOf(to.project);
    assert.deepEqual(
      alerts.map(({ event_count }) => event_count),
      [200],
    );
  });

  test("and are new have numbers of their own, in two processes", async () => {
    const to = await on.receiver();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        post(at % 2 ? on.app : other, to.path, `Bearer ${to.key}`, { title: `New ${at}` }),
      ),
    );
    const iids = answers.map(({ body }) => body[0].iid).toSorted((a: number, b: number) => a - b);
    assert.deepEqual(
      iids,
      iids.map((_, at) => at + 1),
    );
  });

  test("and end while they are reported leave at most one open alert, and each answer names one that is there", async () => {
    const to = await on.receiver();
    const bodies = Array.from({ length: 120 }, (_, at) => ({
      ...{ title: "Flaps", fingerprint: `f${at % 3}` },
      ...(at % 4 === 3 && { end_time: "2026-05-04T11:00:00Z" }),
    }));
    const answers = await Promise.all(
      bodies.map((body, at) => post(at % 2 ? on.app : other, to.path, `Bearer ${to.key}`, body)),
    );
    const alerts = await on.alertsOf(to.project);
    const open = alerts
      .filter(({ status }) => status !== STATUS.resolved)
      .map(({ fingerprint }) => fingerprint?.toString("hex"));
    assert.equal(new Set(open).size, open.length);
    const reported = answers.filter((_, at) => !("end_time" in (bodies[at] ?? {}))).flatMap(({ body }) => body);
    assert.equal(reported.length, 90);
    assert.equal(
      alerts.reduce((sum, { event_count }) => sum + event_count, 0),
      90,
    );
    for (const { iid } of answers.flatMap(({ body }) => body)) assert.ok(alerts.some((alert) => alert.iid === iid));
  });

  test("in one process end in the order in which they came", async () => {
    const to = await on.receiver();
    const reported = { title: "Order", fingerprint: "order" };
    const ended = { ...reported, end_time: "2026-05-04T11:00:00Z" };
    // The first keeps the connection busy, so that the others meet in one batch.
    const answers = await Promise.all(
      [{ title: "First" }, reported, ended, reported, ended, ended].map((body) => on.send(to, body)),
    );
    assert.deepEqual(
      answers.map(({ body }) => body.length),
      // The last two are written as one.
      [1, 1, 1, 1, 1, 1],
    );
    const alerts = (await on.alertsOf(to.project)).filter(({ title }) => title === "Order");
    assert.deepEqual(
      alerts.map(({ status, event_count }) => [status, event_count]),
      [
        [2, 1],
        [2, 1],
      ],
    );
  });

  test("wait for a lock no longer than others do, are refused with 503 then, and come again", async () => {
    const prompt = await receivingApp({ env: { FAIRLEAD_LOCK_TIMEOUT: "200" } });
    try {
      const to = await prompt.receiver();
      await prompt.send(to, { title: "Held", fingerprint: "held" });
      await prompt.app.services.db.transaction(async (tx) => {
        await sql`select from alerts where project_id = ${to.project} for update`.execute(tx);
        const { status, headers } = await prompt.send(to, { fingerprint: "held" });
        assert.deepEqual([status, Number(headers["retry-after"]) > 0], [503, true]);
      });
      assert.equal((await prompt.send(to, { fingerprint: "held" })).status, 200);
      assert.equal((await prompt.alertsOf(to.project))[0]?.event_count, 2);
    } finally {
      await prompt.app.close();
    }
  });

  test("and of which one belongs to a project that is gone are stored without it", async () => {
    const to = await on.receiver();
    const row = (project_id: number, title: string) => {
      const alert = readGeneric({ title }, {}, true);
      return { sender: { id: to.id, project_id }, alert, payload: "{}" };
    };
    const { batched } = on.app.services.db;
    const rows = [row(to.project, "A"), row(to.project, "B"), row(4503599627370495, "Gone"), row(to.project, "C")];
    const outcomes = await Promise.allSettled(rows.map((each) => batched(WRITE_REPORTS, each)));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "fulfilled"],
    );
    assert.equal((await on.alertsOf(to.project)).length, 3);
  });
});
