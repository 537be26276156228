import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import {
  dayFromNow,
  type PrivateGroup,
  privateGroup,
  type RowInserter,
} from "#domains/organization/members/test-support.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";

describe("shares of a project", () => {
  let app: TestApp;
  let insert: RowInserter;
  let owner: TestUser;
  let user: TestUser;
  let admin: TestUser;
  let group: number;
  let get: PrivateGroup["get"];
  let idsAt: PrivateGroup["idsAt"];
  before(async () => {
    ({ app, insert, owner, user, admin, group, get, idsAt } = await privateGroup());
  });
  after(() => app.close());

  const share = (id: number, token: string, payload: object) => app.post(`/projects/${id}/share`, { token, payload });

  test("Maintainers share a project up to their own level", async () => {
    const maintainer = await app.makeUser();
    const developer = await app.makeUser();
    const id = await insert.project(group);
    const other = await insert.group();
    await insert.member(maintainer, { project_id: id }, "maintainer");
    await insert.member(developer, { project_id: id }, "developer");
    const wanted = { group_id: other, group_access: 40 };
    assert.equal((await share(id, developer.token, wanted)).status, 403);
    assert.equal((await share(id, maintainer.token, { ...wanted, group_access: 50 })).status, 403);
    const { status, body } = await share(id, maintainer.token, { ...wanted, expires_at: dayFromNow(3) });
    assert.equal(status, 201);
    assert.deepEqual(
      { ...body, id: 0 },
      { id: 0, project_id: id, group_id: other, group_access: 40, expires_at: dayFromNow(3) },
    );
    assert.equal((await share(id, owner.token, wanted)).status, 409, "twice");
    const { shared_with_groups } = await get(`/projects/${id}`, owner.token);
    assert.equal(shared_with_groups.length, 1);
    assert.equal(shared_with_groups[0].group_id, other);
    assert.equal(shared_with_groups[0].group_access_level, 40);
    const address = `/projects/${id}/share/${other}`;
    assert.equal((await app.delete(address, { token: developer.token })).status, 403);
    assert.equal((await app.delete(address, { token: maintainer.token })).status, 204);
    const { status: gone, body: missing } = await app.delete(address, { token: maintainer.token });
    assert.equal(gone, 404);
    assert.deepEqual(missing, { message: "404 Group Link Not Found" });
    assert.deepEqual((await get(`/projects/${id}`, owner.token)).shared_with_groups, []);
  });

  test("a project is shared with at most a hundred groups; expired shares make room", async () => {
    const id = await insert.project(group);
    const { write } = app.services.db;
    const groups: number[] = [];
    for (let count = 0; count < 101; count++) groups.push(await insert.group());
    const [other = 0, ...others] = groups;
    await write
      .insertInto("shares")
      .values(others.map((with_group_id) => ({ project_id: id, with_group_id, access_level: 20 })))
      .execute();
    const wanted = { group_id: other, group_access: 20 };
    const refused = await share(id, owner.token, wanted);
    assert.deepEqual([refused.status, /at most 100 groups/.test(refused.text)], [422, true], refused.text);
    await write
      .updateTable("shares")
      .set({ expires_at: dayFromNow(-1) })
      .where("with_group_id", "=", others[0] ?? 0)
      .execute();
    assert.equal((await share(id, owner.token, wanted)).status, 201);
  });

  test("a share above the caller's own level cannot be removed", async () => {
    const [maintainer, administrator] = [await app.makeUser(), await app.makeUser({ admin: true })];
    const id = await insert.project(group);
    const other = await insert.group();
    await insert.member(maintainer, { project_id: id }, "maintainer");
    const address = `/projects/${id}/share/${other}`;
    for (const { token } of [owner, administrator]) {
      await insert.share({ project_id: id }, other, "owner");
      const { status, body } = await app.delete(address, { token: maintainer.token });
      assert.equal(status, 403);
      assert.deepEqual(body, { message: "403 Forbidden - This share gives more than your own role" });
      assert.equal((await app.delete(address, { token })).status, 204);
    }
    assert.equal((await app.delete(address, { token: maintainer.token })).status, 404);
  });

  test("invalid levels, dates and groups are refused", async () => {
    const id = await insert.project(group);
    const other = await insert.group();
    const hidden = await insert.group(undefined, { visibility: VISIBILITIES.private });
    for (const [payload, status] of [
      [{ group_id: other, group_access: 5 }, 400],
      [{ group_id: other, group_access: 45 }, 400],
      [{ group_id: other }, 400],
      [{ group_id: other, group_access: 30, expires_at: dayFromNow(0) }, 400],
      [{ group_id: hidden, group_access: 30 }, 404],
      [{ group_id: 999_999_999, group_access: 30 }, 404],
      [{ group_id: group, group_access: 30 }, 409],
    ] as const) {
      assert.equal((await share(id, owner.token, payload)).status, status, JSON.stringify(payload));
    }
  });

  test("an expired share can be created again", async () => {
    const id = await insert.project(group);
    const other = await insert.group();
    await insert.share({ project_id: id, expires_at: "2020-01-01" }, other, "guest");
    assert.deepEqual((await get(`/projects/${id}`, owner.token)).shared_with_groups, []);
    assert.equal((await share(id, owner.token, { group_id: other, group_access: 30 })).status, 201);
  });

  test("a hidden group is shown only to callers who may see it", async () => {
    const id = await insert.project(group, { visibility: VISIBILITIES.public });
    const hidden = await insert.group(undefined, { visibility: VISIBILITIES.private });
    await insert.share({ project_id: id }, hidden, "developer");
    const insider = await app.makeUser();
    await insert.member(insider, { group_id: hidden }, "guest");
    const shown = async ({ token }: TestUser) => (await get(`/projects/${id}`, token)).shared_with_groups.length;
    assert.deepEqual([await shown(insider), await shown(user), await shown(admin)], [1, 0, 1]);
    assert.deepEqual(await idsAt(`/projects/${id}/groups?with_shared=true`), []);
  });
});
