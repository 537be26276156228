import assert from "node:assert/strict";
import { labelsOn, type LabelPlace } from "#domains/planning/labels/test-support.ts";
import type { TestApp } from "#test/support/app.ts";

/** A private group or project and its Owner. */
export type MilestonePlace = LabelPlace;

export const pathOf = ({ kind, id }: MilestonePlace) => `/${kind}s/${id}/milestones`;

/** Creates groups, projects, issues and milestones for a test. */
export function milestonesOn(app: TestApp) {
  const { post: _, put: __, get: ___, delete: ____, created: _____, listed: ______, ...insert } = labelsOn(app);

  const post = (place: MilestonePlace, fields: object = {}, { token } = place.owner) =>
    app.post(pathOf(place), { token, payload: { title: "v1", ...fields } });

  async function listed(place: MilestonePlace, query = "", { token }: { readonly token?: string } = place.owner) {
    const { status, body, text } = await app.get(`${pathOf(place)}?${query}`, { token });
    assert.equal(status, 200, text);
    return body as { readonly id: number; readonly title: string; readonly [field: string]: unknown }[];
  }

  return {
    ...insert,
    post,
    listed,
    put: (place: MilestonePlace, id: number, payload: object, { token } = place.owner) =>
      app.put(`${pathOf(place)}/${id}`, { token, payload }),
    get: (place: MilestonePlace, id: number, { token }: { readonly token?: string } = place.owner) =>
      app.get(`${pathOf(place)}/${id}`, { token }),
    delete: (place: MilestonePlace, id: number, { token } = place.owner) =>
      app.delete(`${pathOf(place)}/${id}`, { token }),
    promote: (place: MilestonePlace, id: number, { token } = place.owner) =>
      app.post(`${pathOf(place)}/${id}/promote`, { token }),
    async created(place: MilestonePlace, fields: object = {}) {
      const { status, body, text } = await post(place, fields);
      assert.equal(status, 201, text);
      return body;
    },
    titles: async (place: MilestonePlace, query = "", user: { readonly token?: string } = place.owner) =>
      (await listed(place, query, user)).map(({ title }) => title),
    /** An issue as its project shows it. */
    async issueAt(place: MilestonePlace, iid: number) {
      const { status, body, text } = await app.get(`/projects/${place.id}/issues/${iid}`, { token: place.owner.token });
      assert.equal(status, 200, text);
      return body;
    },
  };
}

const DAY = 86_400_000;

/** A day before or after today, in UTC. */
export const day = (fromToday: number) => new Date(Date.now() + fromToday * DAY).toISOString().slice(0, 10);
