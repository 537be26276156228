import assert from "node:assert/strict";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { VISIBILITIES } from "#access/roles.ts";

/** A private group with an Owner. */
export interface EpicGroup {
  readonly id: number;
  readonly owner: TestUser;
  readonly epics: string;
}

/** Creates groups and epics for a test. */
export function epicsOn(app: TestApp) {
  const insert = rowInserter(app);

  async function epicGroup(parent?: EpicGroup, columns: object = {}): Promise<EpicGroup> {
    const owner = parent?.owner ?? (await app.makeUser());
    const id = await insert.group(parent?.id, { visibility: VISIBILITIES.private, ...columns });
    if (!parent) await insert.member(owner, { group_id: id }, "owner");
    return { id, owner, epics: `/groups/${id}/epics` };
  }

  async function inRole(group: EpicGroup, role: Parameters<typeof insert.member>[2]): Promise<TestUser> {
    const user = await app.makeUser();
    await insert.member(user, { group_id: group.id }, role);
    return user;
  }

  const post = ({ epics, owner }: EpicGroup, fields: object = {}, { token } = owner) =>
    app.post(epics, { token, payload: { title: "Voyage", ...fields } });

  return {
    ...insert,
    epicGroup,
    inRole,
    post,
    put: ({ epics, owner }: EpicGroup, iid: number, payload: object, { token } = owner) =>
      app.put(`${epics}/${iid}`, { token, payload }),
    get: ({ epics, owner }: EpicGroup, iid: number, { token } = owner) => app.get(`${epics}/${iid}`, { token }),
    list: ({ epics, owner }: EpicGroup, query = "", { token } = owner) => app.get(`${epics}?${query}`, { token }),
    async created(group: EpicGroup, fields: object = {}, by?: TestUser) {
      const { status, body, text } = await post(group, fields, by);
      assert.equal(status, 201, text);
      return body;
    },
  };
}
