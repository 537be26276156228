import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { TestUser } from "#test/support/app.ts";
import { type AlertProject, type AlertsApp, alertsApp } from "./test-support.ts";

describe("lists of alerts", () => {
  let on: AlertsApp;
  let at: AlertProject;
  let assignee: TestUser;
  let integration: number;
  before(async () => {
    on = await alertsApp();
    at = await on.project();
    assignee = await on.member(at, "developer");
    integration = await on.integration(at, "Watch");
    // Each title begins with another letter; numbers, times and words are in different orders.
    await on.alert(at, { title: "Anchor lost", iid: 1, severity: 2, status: 0, started_at: "2026-01-03T00:00:00Z" });
    await on.alert(at, {
      ...{ title: "Buoy adrift", iid: 2, severity: 0, status: 1, started_at: "2026-01-01T00:00:00Z" },
      ...{ description: "near the anchor", environment_name: "production", event_count: 7 },
    });
    const { id } = await on.alert(at, {
      ...{ title: "Chart wet", iid: 3, severity: 4, status: 2, started_at: "2026-01-02T00:00:00Z" },
      ...{ ended_at: "2026-01-05T00:00:00Z", service: "Harbour", integration_id: integration, event_count: 3 },
      ...{ updated_at: "2026-01-05T00:00:00Z" },
    });
    await on.alert(at, {
      ...{ title: "Deck dark", iid: 4, severity: 0, status: 3, started_at: "2026-01-04T00:00:00Z" },
      ...{ monitoring_tool: "Lighthouse", environment_name: "staging" },
    });
    await sql`insert into alert_assignees (alert_id, user_id) values (${id}, ${assignee.id})`.execute(
      on.app.services.db.write,
    );
    const elsewhere = await on.project();
    await on.alert(elsewhere, { title: "Elsewhere, near an anchor", environment_name: "production" });
  });
  after(() => on.app.close());

  interface Titled {
    readonly title: string;
  }
  const lettersOf = (alerts: readonly Titled[]) => alerts.map(({ title }) => title[0]).join("");
  const found = async (query: string) => lettersOf(await on.get(at, `?${query}`));

  test("orders", async () => {
    const orders = {
      "": "DACB",
      "order_by=started_at&sort=asc": "BCAD",
      "order_by=created_at": "DCBA",
      "order_by=created_at&sort=asc": "ABCD",
      // The most critical first; those with the same severity by their ids.
      "order_by=severity": "DBAC",
      "order_by=severity&sort=asc": "CABD",
      "order_by=status": "ABCD",
      "order_by=status&sort=asc": "DCBA",
      "order_by=event_count": "BCDA",
      "order_by=updated_at&sort=asc": "CABD",
    };
    for (const [query, expected] of Object.entries(orders)) assert.equal(await found(query), expected, query);
  });

  test("filters", async () => {
    const filters = {
      "status=triggered": "A",
      "status=acknowledged,ignored": "BD",
      "status[]=resolved": "C",
      "status=": "ABCD",
      "severity=critical": "BD",
      "severity=info,medium": "AC",
      "severity=critical&status=ignored": "D",
      "search=anchor": "AB",
      "search=HARBOUR": "C",
      "search=lighthouse": "D",
      "search=anchor lost": "A",
      "search=%25": "",
      "search=+": "ABCD",
      "environment=production": "B",
      "environment=Production": "",
      "started_after=2026-01-03T00:00:00Z": "AD",
      "started_before=2026-01-02T00:00:00Z": "BC",
      "started_after=2026-01-02T00:00:00Z&started_before=2026-01-03T00:00:00Z": "AC",
      "search=anchor&status=acknowledged": "B",
      "environment=production&search=buoy&severity=critical": "B",
      [`integration_id=${integration}`]: "C",
      [`integration_id=${integration}&status=triggered`]: "",
      [`assignee_username=${assignee.username.toUpperCase()}`]: "C",
      "assignee_username=nobody": "",
    };
    for (const [query, expected] of Object.entries(filters))
      assert.equal(await found(`${query}&order_by=created_at&sort=asc`), expected, query);
  });

  test("what is not a status, severity, time or order is 400", async () => {
    for (const [query, error] of [
      ["status=open", "status does not have a valid value"],
      ["severity=triggered,fatal", "severity does not have a valid value"],
      ["started_after=yesterday", "started_after is invalid"],
      ["order_by=title", "order_by does not have a valid value"],
      ["integration_id=x", "integration_id is invalid"],
    ] as const) {
      const { status, body } = await on.app.get(`${at.alerts}?${query}`, { token: at.developer.token });
      assert.deepEqual([status, body], [400, { error }], query);
    }
  });

  test("offset paging has totals, and keyset paging reaches every alert once", async () => {
    const { token } = at.developer;
    const page = await on.app.get(`${at.alerts}?per_page=3&page=2`, { token });
    assert.deepEqual([lettersOf(page.body), page.headers["x-total"], page.headers["x-total-pages"]], ["B", "4", "2"]);
    for (const order of ["started_at", "created_at"]) {
      let seen = "";
      let path: string | undefined = `${at.alerts}?pagination=keyset&per_page=1&sort=asc&order_by=${order}`;
      while (path !== undefined && seen.length < 5) {
        const reply: Awaited<ReturnType<typeof on.app.get>> = await on.app.get(path, { token });
        assert.equal(reply.status, 200, reply.text);
        seen += lettersOf(reply.body);
        path = /<http:\/\/localhost([^>]+)>; rel="next"/.exec(reply.headers["link"] ?? "")?.[1];
      }
      assert.equal(seen, await found(`order_by=${order}&sort=asc`), order);
    }
    const unindexed = await on.app.get(`${at.alerts}?pagination=keyset&order_by=severity`, { token });
    assert.equal(unindexed.status, 405);
  });

  test("the counts by status", async () => {
    const counts = { triggered: 1, acknowledged: 1, resolved: 1, ignored: 1, open: 2, all: 4 };
    assert.deepEqual(await on.get(at, "/status_counts"), counts);
    const many = await on.project();
    assert.deepEqual(await on.get(many, "/status_counts"), Object.fromEntries(Object.keys(counts).map((n) => [n, 0])));
    await sql`insert into alerts (project_id, iid, status, severity, started_at, title, grouped_by, payload)
      select ${many.id}, n, n % 2, 0, now(), 'x', '{}', '{}' from generate_series(1, 20010) n`.execute(
      on.app.services.db.write,
    );
    const stopped = { triggered: 10_000, acknowledged: 10_000, resolved: 0, ignored: 0, open: 10_000, all: 10_000 };
    assert.deepEqual(await on.get(many, "/status_counts"), stopped);
  });

  test("of more than 10,000 alerts few are found by an index, and the order without one is by start", async () => {
    const many = await on.project();
    const name = many.developer.username;
    await sql`insert into alerts (project_id, iid, severity, started_at, title, grouped_by, payload)
      select ${many.id}, n, n % 6, '2020-01-01'::timestamptz + n * interval '1 minute', 'Full ' || n, '{}', '{}'
      from generate_series(1, 10010) n`.execute(on.app.services.db.write);
    const columns = { title: "Needle", environment_name: "haystack", severity: 5, started_at: "2019-01-01T00:00:00Z" };
    const integration_id = await on.integration(many, "Magnet");
    const { id } = await on.alert(many, { ...columns, integration_id, iid: 20_000 });
    const elsewhere = await on.alert(at, { ...columns, iid: 20_000 });
    await sql`insert into alert_assignees (alert_id, user_id)
      select alert_id, ${many.developer.id} from unnest(${[id, elsewhere.id]}::bigint[]) alert_id`.execute(
      on.app.services.db.write,
    );
    for (const filter of [
      "search=needle",
      "environment=haystack",
      `assignee_username=${name}`,
      "search=needle&status=",
    ]) {
      const found = await on.app.get(`${many.alerts}?${filter}`, { token: many.developer.token });
      assert.deepEqual([lettersOf(found.body), found.headers["x-total"]], ["N", "1"], filter);
    }
    assert.equal(lettersOf(await on.get(many, `?integration_id=${integration_id}`)), "N");
    const common = await on.app.get(`${many.alerts}?search=full&per_page=2`, { token: many.developer.token });
    assert.deepEqual(
      common.body.map(({ title }: Titled) => title),
      ["Full 10010", "Full 10009"],
    );
    assert.equal(common.headers["x-total"], undefined);
    const [first] = await on.get(many, "?order_by=severity&sort=asc");
    assert.equal(first.title, "Needle");
    await sql`delete from alerts where id = ${elsewhere.id}`.execute(on.app.services.db.write);
  });

  test("the other path leads to the same", async () => {
    const { token } = at.developer;
    for (const path of ["", "/1", "/status_counts"]) {
      const { status, text } = await on.app.get(`/projects/${at.id}/alerts${path}`, { token });
      assert.equal(status, 200);
      assert.equal(text, (await on.app.get(`${at.alerts}${path}`, { token })).text);
    }
    const changed = await on.app.put(`/projects/${at.id}/alerts/1`, { token, payload: { status: "triggered" } });
    assert.equal(changed.status, 200);
  });

  test("people below Developer, and a project without monitoring, are refused", async () => {
    const reporter = await on.member(at, "reporter");
    const refused = await on.app.get(at.alerts, { token: reporter.token });
    assert.deepEqual(refused.body, { message: "403 Forbidden - Requires at least the Developer role in the project" });
    const off = await on.project({ monitor_access_level: "disabled" });
    const { status, body } = await on.app.get(off.alerts, { token: off.developer.token });
    assert.equal(status, 403, body.message);
  });
});

describe("an alert", () => {
  let on: AlertsApp;
  let at: AlertProject;
  before(async () => {
    on = await alertsApp();
    at = await on.project();
  });
  after(() => on.app.close());

  test("shows every field, what was sent, and why it is grouped", async () => {
    const integration_id = await on.integration(at, "Watch");
    const { id, iid } = await on.alert(at, {
      ...{ title: "Disk full", description: "of the log", service: "Log", monitoring_tool: "Prometheus" },
      ...{ hosts: ["a", "b"], severity: 5, status: 2, event_count: 12, environment_name: "production", integration_id },
      ...{ started_at: "2026-01-02T03:04:05Z", ended_at: "2026-01-02T04:04:05Z", runbook: "https://example.com/r" },
      ...{ created_at: "2026-01-02T03:04:06Z", updated_at: "2026-01-02T04:04:06Z", query: "up == 0" },
      ...{ grouped_by: { fingerprint: "disk" } },
      payload: '{"title": "Disk full", "id": "9007199254740993", "labels": {"a": [1, null]}}',
    });
    const project = (await on.app.get(`/projects/${at.id}`, { token: at.developer.token })).body;
    const url = `http://localhost/${project.path_with_namespace}/-/alert_management/${iid}/details`;
    const fields = {
      ...{ id, iid, project_id: at.id, title: "Disk full", description: "of the log", service: "Log" },
      ...{ monitoring_tool: "Prometheus", hosts: ["a", "b"], severity: "unknown", status: "resolved" },
      ...{ started_at: "2026-01-02T03:04:05.000Z", ended_at: "2026-01-02T04:04:05.000Z", event_count: 12, events: 12 },
      ...{ environment: "production", runbook: "https://example.com/r", query: "up == 0", assignees: [] },
      ...{ integration: { id: integration_id, name: "Watch" }, created_at: "2026-01-02T03:04:06.000Z" },
      ...{ updated_at: "2026-01-02T04:04:06.000Z", web_url: url, details_url: url },
    };
    assert.deepEqual(await on.get(at), [fields]);
    const { status, text, body } = await on.app.get(`${at.alerts}/${iid}`, { token: at.developer.token });
    assert.equal(status, 200, text);
    const { payload, details, grouped_by, timeline, ...shown } = body;
    assert.deepEqual(shown, fields);
    assert.match(text, /"payload":\{"title":"Disk full","id":"9007199254740993","labels":\{"a":\[1,null\]\}\}/);
    assert.equal(payload.title, "Disk full");
    assert.deepEqual(details, [
      { name: "title", value: "Disk full" },
      { name: "id", value: "9007199254740993" },
      { name: "labels.a.0", value: "1" },
      { name: "labels.a.1", value: null },
    ]);
    assert.deepEqual([grouped_by, timeline], [{ fingerprint: "disk" }, []]);
  });

  test("that is missing or in another project is 404 with the same text", async () => {
    const other = await on.alert(await on.project(), { iid: 4_711 });
    for (const iid of [other.iid, 4_712, 2 ** 40]) {
      const { status, text } = await on.app.get(`${at.alerts}/${iid}`, { token: at.developer.token });
      assert.deepEqual([status, text], [404, '{"message":"Alert not found"}']);
    }
  });
});
