import { randomBytes } from "node:crypto";
import type { Insertable } from "kysely";
import type { LEVELS } from "#access/roles.ts";
import type { Database } from "#db/types.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import { accepted } from "#domains/planning/issues/test-support.ts";
import { type TestApp, type TestUser, testApp } from "#test/support/app.ts";

/** A private project in a group of its own, the path of its alerts, and a Developer of it. */
export interface AlertProject {
  readonly id: number;
  readonly alerts: string;
  readonly developer: TestUser;
}

type AlertColumns = Partial<Omit<Insertable<Database["alerts"]>, "project_id">>;

/** An application, and functions that create projects and alerts in it. */
export async function alertsApp(databaseUrl?: string) {
  const app = await testApp(databaseUrl === undefined ? {} : { databaseUrl });
  return { app, ...alertsOn(app) };
}

function alertsOn(app: TestApp) {
  const insert = rowInserter(app);
  const { write } = app.services.db;
  let last = 0;

  async function project(columns: Partial<Insertable<Database["projects"]>> = {}): Promise<AlertProject> {
    const developer = await app.makeUser();
    const id = await insert.project(await insert.group(), columns);
    await insert.member(developer, { project_id: id }, "developer");
    return { id, alerts: `/projects/${id}/alert_management_alerts`, developer };
  }

  async function alert({ id: project_id }: { readonly id: number }, columns: AlertColumns = {}) {
    const row = {
      ...{ project_id, iid: ++last, title: "Disk full", severity: 0, started_at: "2026-01-02T03:04:05.000Z" },
      ...{ fingerprint: randomBytes(32), grouped_by: {}, payload: "{}" },
      ...columns,
    };
    return write.insertInto("alerts").values(row).returning(["id", "iid"]).executeTakeFirstOrThrow();
  }

  return {
    insert,
    project,
    alert,
    async integration({ id: project_id }: AlertProject, name: string): Promise<number> {
      const endpoint_identifier = randomBytes(8).toString("hex");
      const row = { project_id, type: "http" as const, name, active: true, endpoint_identifier };
      return (await write.insertInto("alert_integrations").values(row).returning("id").executeTakeFirstOrThrow()).id;
    },
    async member({ id }: AlertProject, role: keyof typeof LEVELS): Promise<TestUser> {
      const user = await app.makeUser();
      await insert.member(user, { project_id: id }, role);
      return user;
    },
    get: async (at: AlertProject, path = "", user = at.developer) =>
      accepted(await app.get(`${at.alerts}${path}`, { token: user.token }), 200),
    put: ({ alerts, developer }: AlertProject, iid: number, payload: object, user = developer) =>
      app.put(`${alerts}/${iid}`, { token: user.token, payload }),
    async change(at: AlertProject, iid: number, payload: object, user = at.developer) {
      return accepted(await app.put(`${at.alerts}/${iid}`, { token: user.token, payload }), 200);
    },
  };
}

export type AlertsApp = Awaited<ReturnType<typeof alertsApp>>;
