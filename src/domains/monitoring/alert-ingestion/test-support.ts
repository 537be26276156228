import assert from "node:assert/strict";
import { sql } from "kysely";
import type { Selectable } from "kysely";
import type { Database } from "#db/types.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

export type AlertRow = Selectable<Database["alerts"]>;

/** A project with an integration, and what a monitoring tool knows of it. */
export interface Receiver {
  readonly id: number;
  readonly project: number;
  readonly key: string;
  /** The path of its address. */
  readonly path: string;
}

/** An application that receives alerts. */
export async function receivingApp(options: Parameters<typeof testApp>[0] = {}) {
  const app = await testApp(options);
  const insert = rowInserter(app);
  const maintainer = await app.makeUser();

  async function receiver(settings: object = {}, project?: number): Promise<Receiver> {
    const id = project ?? (await insert.project(await insert.group()));
    if (project === undefined) await insert.member(maintainer, { project_id: id }, "maintainer");
    const { status, body, text } = await app.post(`/projects/${id}/alert_integrations`, {
      token: maintainer.token,
      payload: { name: "Tool", ...settings },
    });
    assert.equal(status, 201, text);
    return { id: body.id, project: id, key: body.token, path: new URL(body.url).pathname };
  }

  return {
    app,
    insert,
    maintainer,
    receiver,
    /** Sends a body as the monitoring tool does. */
    send: (to: Pick<Receiver, "key" | "path">, body: unknown) => post(app, to.path, `Bearer ${to.key}`, body),
    async alertsOf(project: number): Promise<AlertRow[]> {
      const { rows } = await sql<AlertRow>`select * from alerts where project_id = ${project} order by iid`.execute(
        app.services.db.write,
      );
      return rows;
    },
  };
}

export type Receiving = Awaited<ReturnType<typeof receivingApp>>;

/** A request to an address outside the API; a text is sent as it is. */
export async function post(app: TestApp, path: string, authorization: string | undefined, body: unknown) {
  const answer = await app.app.inject({
    method: "POST",
    url: path,
    headers: {
      host: "localhost",
      "content-type": "application/json",
      ...(authorization !== undefined && { authorization }),
    },
    payload: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
  const { statusCode: status, payload: text, headers } = answer;
  return { status, text, headers, body: text === "" ? undefined : JSON.parse(text) };
}

/** An item as Alertmanager sends it. */
export const item = (name: string, changes: object = {}) => ({
  status: "firing",
  labels: { alertname: name, severity: "page" },
  annotations: { summary: name },
  startsAt: "2026-05-04T09:59:00.123456789Z",
  endsAt: "0001-01-01T00:00:00Z",
  generatorURL: "http://prometheus.example.com/graph?g0.expr=up",
  fingerprint: "0123456789abcdef",
  ...changes,
});

/** The body of a webhook. */
export const webhook = (alerts: readonly unknown[], changes: object = {}) => ({
  ...{ receiver: "hook", status: "firing", groupLabels: {}, commonLabels: {}, commonAnnotations: {} },
  ...{ externalURL: "http://am.example.com", version: "4", groupKey: "{}:{}", truncatedAlerts: 0, alerts },
  ...changes,
});
