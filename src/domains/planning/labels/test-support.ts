import assert from "node:assert/strict";
import { sql } from "kysely";
import type { AnyJob } from "#jobs/define.ts";
import { runWorker } from "#jobs/worker.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { elsewhere } from "#test/support/elsewhere.ts";
import { until } from "#test/support/until.ts";

/** A private group or project, its Owner and the path of its labels. */
export interface LabelPlace {
  readonly kind: "group" | "project";
  readonly id: number;
  readonly owner: TestUser;
  readonly labels: string;
}

export const PLACES = ["project", "group"] as const;
export const COLOR = "#d9534f";

/** Creates groups, projects and labels for a test. */
export function labelsOn(app: TestApp) {
  const insert = rowInserter(app);

  const placeAt = (kind: LabelPlace["kind"], id: number, owner: TestUser): LabelPlace => ({
    ...{ kind, id, owner },
    labels: `/${kind}s/${id}/labels`,
  });

  /** A project in a group, or a group in a group, whose Owner is the same. */
  async function nested(kind: LabelPlace["kind"] = "project") {
    const owner = await app.makeUser();
    const top = await insert.group(undefined, { visibility: 0 });
    await insert.member(owner, { group_id: top }, "owner");
    const id = kind === "group" ? await insert.group(top, { visibility: 0 }) : await insert.project(top);
    return { owner, above: placeAt("group", top, owner), place: placeAt(kind, id, owner) };
  }

  async function inRole(place: LabelPlace, role: Parameters<typeof insert.member>[2]): Promise<TestUser> {
    const user = await app.makeUser();
    await insert.member(user, { [`${place.kind}_id`]: place.id }, role);
    return user;
  }

  const post = ({ labels, owner }: LabelPlace, fields: object = {}, { token } = owner) =>
    app.post(labels, { token, payload: { name: "bug", color: COLOR, ...fields } });

  return {
    ...insert,
    placeAt,
    nested,
    inRole,
    post,
    put: ({ labels, owner }: LabelPlace, label: string | number, payload: object, { token } = owner) =>
      app.put(`${labels}/${encodeURIComponent(label)}`, { token, payload }),
    get: ({ labels, owner }: LabelPlace, label: string | number, { token } = owner) =>
      app.get(`${labels}/${encodeURIComponent(label)}`, { token }),
    delete: ({ labels, owner }: LabelPlace, label: string | number, { token } = owner) =>
      app.delete(`${labels}/${encodeURIComponent(label)}`, { token }),
    async created(place: LabelPlace, fields: object = {}) {
      const { status, body, text } = await post(place, fields);
      assert.equal(status, 201, text);
      return body;
    },
    async listed({ labels, owner }: LabelPlace, query = "", { token }: { readonly token?: string } = owner) {
      const { status, body, text } = await app.get(`${labels}?${query}`, { token });
      assert.equal(status, 200, text);
      return body as { readonly id: number; readonly name: string; readonly [field: string]: unknown }[];
    },
    /** An issue with labels, by the API. */
    async issue({ id, owner }: LabelPlace, fields: object = {}) {
      const payload = { title: "Leak", ...fields };
      const { status, body, text } = await app.post(`/projects/${id}/issues`, { token: owner.token, payload });
      assert.equal(status, 201, text);
      return body as { readonly id: number; readonly iid: number };
    },
    async linksOf(labelId: number): Promise<number> {
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from label_links where label_id = ${labelId}`.execute(app.services.db.write);
      return rows[0]?.count ?? 0;
    },
    /** Whether some statement waits for a lock; for tests with a database of their own. */
    async isWaiting(): Promise<boolean> {
      const { db } = app.services;
      const waiting = sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      const { rows } = await elsewhere(db, () => waiting.execute(db.write));
      return rows.length > 0;
    },
    /** Deletes a group or project for good; jobs complete it. */
    async deletePermanently({ kind, id, owner: { token } }: LabelPlace) {
      const at = `/${kind}s/${id}`;
      const { body } = await app.get(at, { token });
      const full_path = encodeURIComponent(body.full_path ?? body.path_with_namespace);
      assert.equal((await app.delete(at, { token })).status, 202);
      const { status, text } = await app.delete(`${at}?permanently_remove=true&full_path=${full_path}`, { token });
      assert.equal(status, 202, text);
    },
    /** Runs the waiting jobs of some kinds until a condition holds. */
    async work(jobs: readonly AnyJob[], what: string, isDone: () => Promise<boolean>) {
      const worker = await runWorker(app.services, jobs, { queues: ["bulk", "default"] });
      try {
        await until(what, isDone);
      } finally {
        await worker.stop();
      }
    },
  };
}
