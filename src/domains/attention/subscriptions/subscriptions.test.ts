import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type LinkApp, linkApp } from "#domains/planning/links/test-support.ts";
import { VISIBILITIES } from "#access/roles.ts";
import type { TestUser } from "#test/support/app.ts";

describe("subscriptions", () => {
  let links: LinkApp;
  let owner: TestUser;
  let member: TestUser;
  let group: number;
  let project: number;
  before(async () => {
    links = await linkApp();
    [owner, member] = [await links.app.makeUser(), await links.app.makeUser()];
    group = await links.group(owner, "owner");
    project = await links.insert.project(group, { visibility: VISIBILITIES.private });
    await links.insert.member(member, { group_id: group }, "guest");
  });
  after(() => links.app.close());

  const create = async (path: string, payload: object = {}, { token } = owner) => {
    const { status, body, text } = await links.app.post(path, { token, payload: { title: "Leak", ...payload } });
    assert.equal(status, 201, text);
    return body;
  };
  const containers = () => [`/projects/${project}/issues`, `/groups/${group}/epics`];
  const subscribed = async (path: string, { token } = member) => (await links.app.get(path, { token })).body.subscribed;
  const ask = async (path: string, { token } = member) => {
    const { status, body } = await links.app.post(path, { token });
    return [status, status === 304 ? null : body.subscribed];
  };

  test("of somebody who takes no part begin and end when they ask, once", async () => {
    for (const container of containers()) {
      const { iid } = await create(container);
      const path = `${container}/${iid}`;
      assert.equal(await subscribed(path), false);
      assert.deepEqual(await ask(`${path}/unsubscribe`), [304, null]);
      assert.deepEqual(await ask(`${path}/subscribe`), [201, true]);
      assert.deepEqual(await ask(`${path}/subscribe`), [304, null]);
      assert.equal(await subscribed(path), true);
      assert.deepEqual(await ask(`${path}/unsubscribe`), [201, false]);
      assert.deepEqual(await ask(`${path}/unsubscribe`), [304, null]);
      assert.deepEqual([await subscribed(path), await subscribed(path, owner)], [false, true]);
      assert.equal((await links.app.post(`${path}/subscribe`)).status, 401);
    }
  });

  test("are there for the author, the assignees and those who comment, until they say otherwise", async () => {
    for (const container of containers()) {
      const { iid } = await create(container);
      const path = `${container}/${iid}`;
      assert.equal(await subscribed(path, owner), true);
      await create(`${path}/notes`, { body: "I saw it too" }, member);
      assert.equal(await subscribed(path), true);
      assert.deepEqual(await ask(`${path}/subscribe`), [304, null]);
      assert.deepEqual(await ask(`${path}/unsubscribe`), [201, false]);
      await create(`${path}/notes`, { body: "Again" }, member);
      assert.equal(await subscribed(path), false);
    }
    const assigned = await create(`/projects/${project}/issues`, { assignee_ids: [member.id] });
    assert.equal(await subscribed(`/projects/${project}/issues/${assigned.iid}`), true);
  });

  test("show in the links of an issue, and go with it to another project", async () => {
    const issues = `/projects/${project}/issues`;
    const [one, other] = [await create(issues), await create(issues)];
    await create(`${issues}/${one.iid}/links`, { target_project_id: project, target_issue_iid: other.iid });
    const linked = async () =>
      (await links.app.get(`${issues}/${one.iid}/links`, { token: member.token })).body[0].subscribed;
    assert.equal(await linked(), false);
    await ask(`${issues}/${other.iid}/subscribe`);
    assert.equal(await linked(), true);
    const target = await links.insert.project(group, { visibility: VISIBILITIES.private });
    const { iid } = await create(`${issues}/${other.iid}/move`, { to_project_id: target });
    assert.equal(await subscribed(`/projects/${target}/issues/${iid}`), true);
  });

  test("of hidden items are missing ones", async () => {
    for (const container of containers()) {
      const { iid } = await create(container, { confidential: true });
      for (const verb of ["subscribe", "unsubscribe"]) {
        const hidden = await links.app.post(`${container}/${iid}/${verb}`, { token: member.token });
        const missing = await links.app.post(`${container}/999999/${verb}`, { token: member.token });
        assert.deepEqual([hidden.status, hidden.text], [404, missing.text]);
      }
    }
  });
});
