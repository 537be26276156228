import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client } from "pg";
import { type RunningServer, startServer } from "#test/support/server.ts";
import { until } from "#test/support/until.ts";
import { type Alertmanager, configFor, startAlertmanager } from "./alertmanager.ts";

interface Alert {
  readonly iid: number;
  readonly title: string;
  readonly status: number;
  readonly event_count: number;
  readonly severity: number;
  readonly ended_at: string | null;
  readonly query: string | null;
  readonly payload: string;
}

const RESOLVED = 2;
const PROMPT = { FAIRLEAD_LOCK_TIMEOUT: "500" };

/** Debian's Alertmanager sends to a running server: every alert arrives, whatever happens on the way. */
describe("Alertmanager", () => {
  let server: RunningServer;
  let alertmanager: Alertmanager;
  let database: Client;
  let project: number;
  before(async () => {
    // A test holds a lock until the server gives up.
    server = await startServer(PROMPT);
    database = new Client(server.databaseUrl);
    await database.connect();
    project = (await api("/projects", { name: "Watched" })).id;
    const [bearer, basic, address] = [
      await integration("bearer"),
      await integration("basic"),
      await integration("address"),
    ];
    alertmanager = await startAlertmanager(
      configFor([
        {
          ...{ name: "bearer", url: bearer.url },
          httpConfig: `{authorization: {type: Bearer, credentials: '${bearer.token}'}}`,
        },
        { name: "basic", url: basic.url, httpConfig: `{basic_auth: {username: '', password: '${basic.token}'}}` },
        { name: "address", url: address.url.replace("://", `://:${address.token}@`) },
      ]),
    );
  });
  after(async () => {
    await alertmanager?.stop();
    await database?.end();
    await server?.stop();
  });

  async function api(path: string, payload: object) {
    const response = await fetch(`${server.url}/api/v4${path}`, {
      method: "POST",
      headers: { "private-token": server.token, "content-type": "application/json" },
      body: JSON.stringify(payload),
    });
    const text = await response.text();
    assert.equal(response.status, 201, text);
    return JSON.parse(text);
  }
  const integration = (name: string): Promise<{ url: string; token: string }> =>
    api(`/projects/${project}/alert_integrations`, { name, type: "prometheus" });

  async function alertNamed(title: string): Promise<Alert | undefined> {
    const { rows } = await database.query<Alert>(
      "select * from alerts where project_id = $1 and title = $2 order by iid desc limit 1",
      [project, title],
    );
    return rows[0];
  }
  const arrived = (title: string, isReached: (alert: Alert) => boolean = () => true) =>
    until(`the alert ${title} is as expected\n${alertmanager.log().slice(-2000)}`, async () => {
      const alert = await alertNamed(title);
      return alert && isReached(alert) ? alert : undefined;
    });
  // A Prometheus sends the start with every report.
  const startsAt = new Date(Date.now() - 60_000).toISOString();
  const firing = (via: string, alertname: string) => ({
    startsAt,
    labels: { alertname, via, severity: "page" },
    annotations: { summary: alertname, other: "kept" },
    generatorURL: "http://prometheus.example.com/graph?g0.expr=up",
  });
  const over = (via: string, alertname: string) => ({
    ...firing(via, alertname),
    endsAt: new Date(Date.now() - 1000).toISOString(),
  });

  for (const via of ["bearer", "basic", "address"]) {
    test(`fires, repeats and resolves with the key as ${via}`, async () => {
      const title = `Down ${via}`;
      await alertmanager.report([firing(via, title)]);
      const first = await arrived(title);
      assert.deepEqual(
        [first.status, first.severity, first.ended_at, first.query],
        [0, 1, null, "up"],
        "a firing alert has an end in year 1, which ends nothing",
      );
      const { endsAt, annotations } = JSON.parse(first.payload);
      assert.deepEqual([endsAt, annotations.other], ["0001-01-01T00:00:00Z", "kept"]);
      await arrived(title, ({ event_count }) => event_count > 1);
      await alertmanager.report([over(via, title)]);
      await arrived(title, ({ status, ended_at }) => status === RESOLVED && ended_at !== null);
    });
  }

  test("resolves some alerts of a group that goes on firing", async () => {
    await alertmanager.report([firing("bearer", "Group one"), firing("bearer", "Group two")]);
    const counted = (await arrived("Group two")).event_count;
    await alertmanager.report([over("bearer", "Group one")]);
    await arrived("Group one", ({ status }) => status === RESOLVED);
    const { status } = await arrived("Group two", ({ event_count }) => event_count > counted);
    assert.equal(status, 0);
  });

  test("sends again what the server could not store for a while", async () => {
    await alertmanager.report([firing("basic", "Held")]);
    const { iid } = await arrived("Held");
    await database.query("begin");
    await database.query("select from alerts where project_id = $1 and iid = $2 for update", [project, iid]);
    const isRefused = () => /503/.test(alertmanager.log());
    await alertmanager.report([firing("basic", "After the lock")]);
    await until("a request is refused with 503", async () => isRefused());
    await database.query("rollback");
    await arrived("After the lock");
  });

  test("sends again what it could not send while the server was down", async () => {
    const { databaseUrl, token, url } = server;
    await server.stop();
    await alertmanager.report([firing("bearer", "While down"), firing("address", "While down too")]);
    await until("Alertmanager cannot connect", async () => /connection refused/.test(alertmanager.log()));
    server = await startServer({
      ...{
        ...PROMPT,
        FAIRLEAD_DATABASE_URL: databaseUrl,
        FAIRLEAD_ROOT_TOKEN: token,
        FAIRLEAD_PORT: new URL(url).port,
      },
    });
    await arrived("While down");
    await arrived("While down too");
  });
});
