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

describe("the permissions, groups, users and avatar of a project", () => {
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

  describe("permissions", () => {
    const permissionsOf = async (id: number, { token }: TestUser) => {
      const { permissions } = await get(`/projects/${id}`, token);
      const listed = (await get(`/projects?per_page=100&id_after=${id - 1}&id_before=${id + 1}`, token)).at(0);
      assert.deepEqual(listed.permissions, permissions, "a list shows what the project itself shows");
      return [permissions.project_access?.access_level ?? null, permissions.group_access?.access_level ?? null];
    };

    test("distinguish the direct level from that of groups", async () => {
      const top = await insert.group();
      const sub = await insert.group(top);
      const id = await insert.project(sub);
      const [direct, inherited, both, nobody] = await Promise.all([1, 2, 3, 4].map(() => app.makeUser()));
      assert.ok(direct && inherited && both && nobody);
      await insert.member(direct, { project_id: id }, "developer");
      await insert.member(inherited, { group_id: top }, "maintainer");
      await insert.member(both, { project_id: id }, "owner");
      await insert.member(both, { group_id: top }, "guest");
      await insert.member(both, { group_id: sub }, "reporter");
      assert.deepEqual(await permissionsOf(id, direct), [30, null]);
      assert.deepEqual(await permissionsOf(id, inherited), [null, 40]);
      assert.deepEqual(await permissionsOf(id, both), [50, 20]);
      assert.deepEqual(await permissionsOf(id, admin), [null, null]);
      assert.equal((await app.get(`/projects/${id}`, { token: nobody.token })).status, 404);
    });

    test("count shares up to their level and expiry date", async () => {
      const [place, invited] = [await insert.group(), await insert.group()];
      const below = await insert.group(invited);
      const id = await insert.project(place);
      const other = await insert.project(place);
      const [one, two, minimal] = await Promise.all([1, 2, 3].map(() => app.makeUser()));
      assert.ok(one && two && minimal);
      await insert.member(one, { group_id: invited }, "owner");
      await insert.member(two, { group_id: invited }, "reporter");
      await insert.member(minimal, { group_id: invited }, "minimal");
      await insert.share({ project_id: id }, below, "developer");
      assert.deepEqual(await permissionsOf(id, one), [null, 30]);
      assert.deepEqual(await permissionsOf(id, two), [null, 20]);
      for (const { token } of [minimal]) assert.equal((await app.get(`/projects/${id}`, { token })).status, 404);
      await insert.share({ group_id: place }, invited, "guest");
      assert.deepEqual(await permissionsOf(other, one), [null, 10]);
      await insert.share({ project_id: other, expires_at: dayFromNow(0) }, invited, "owner");
      assert.deepEqual(await permissionsOf(other, one), [null, 10], "a share that has ended gives nothing");
    });

    test("are not in the summary, and not shown to anonymous callers", async () => {
      const id = await insert.project(group, { visibility: VISIBILITIES.public });
      const short = await get(`/projects/${id}`);
      assert.deepEqual(
        Object.keys(short).filter((name) => ["permissions", "_links", "visibility"].includes(name)),
        [],
      );
      assert.equal(short.namespace.id, group);
      const [listed] = await get(`/projects?simple=true&id_after=${id - 1}&id_before=${id + 1}`, user.token);
      assert.deepEqual(listed, short);
      const [anonymously] = await get(`/projects?id_after=${id - 1}&id_before=${id + 1}`);
      assert.deepEqual(anonymously, short);
    });
  });

  test("its groups are those above it and, on request, those it is shared with", async () => {
    const top = await insert.group(undefined, { name: "Top of it" });
    const sub = await insert.group(top, { name: "Below it" });
    const other = await insert.group(undefined, { name: "Beside it" });
    const id = await insert.project(sub, { visibility: VISIBILITIES.public });
    await insert.share({ project_id: id }, other, "reporter");
    const address = `/projects/${id}/groups`;
    assert.deepEqual(await idsAt(address), [top, sub]);
    const [, shown] = await get(address);
    assert.equal(shown.full_name, "Top of it / Below it");
    assert.equal(shown.web_url, `http://localhost/groups/${shown.full_path}`);
    assert.deepEqual(await idsAt(`${address}?with_shared=true`), [top, sub, other]);
    assert.deepEqual(await idsAt(`${address}?with_shared=true&shared_min_access_level=30`), [top, sub]);
    assert.deepEqual(await idsAt(`${address}?search=below`), [sub]);
    assert.deepEqual(await idsAt(`${address}?skip_groups[]=${top}`), [sub]);
    const personal = await app.post("/projects", {
      token: user.token,
      payload: { name: "Groupless", visibility: "public" },
    });
    assert.deepEqual(await idsAt(`/projects/${personal.body.id}/groups`), []);
  });

  test("its users are direct members, inherited ones and those from shares", async () => {
    const top = await insert.group();
    const other = await insert.group();
    const id = await insert.project(await insert.group(top));
    const people = await Promise.all([1, 2, 3, 4].map(() => app.makeUser()));
    const [direct, inherited, invited, minimal] = people;
    assert.ok(direct && inherited && invited && minimal);
    await insert.member(direct, { project_id: id }, "guest");
    await insert.member(inherited, { group_id: top }, "developer");
    await insert.member(invited, { group_id: other }, "developer");
    await insert.member(minimal, { group_id: top }, "minimal");
    await insert.share({ project_id: id }, other, "reporter");
    const expected = [direct.id, inherited.id, invited.id].toSorted((a, b) => a - b);
    assert.deepEqual(await idsAt(`/projects/${id}/users`, direct.token), expected);
    assert.deepEqual(await idsAt(`/projects/${id}/users?search=${inherited.username}`, direct.token), [inherited.id]);
    assert.equal((await app.get(`/projects/${id}/users`, { token: user.token })).status, 404);
  });

  test("its avatar is visible to everyone who may see the project", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const upload = (content: Buffer) => {
      const head = '--xx\r\ncontent-disposition: form-data; name="avatar"; filename="me.svg"\r\n\r\n';
      return {
        token: owner.token,
        headers: { "content-type": "multipart/form-data; boundary=xx" },
        payload: Buffer.concat([Buffer.from(head), content, Buffer.from("\r\n--xx--\r\n")]),
      };
    };
    const id = await insert.project(group);
    assert.equal((await app.put(`/projects/${id}`, upload(Buffer.from("no image")))).status, 400);
    const { status, body } = await app.put(`/projects/${id}`, upload(png));
    assert.equal(status, 200);
    assert.equal(body.avatar_url, `http://localhost/uploads/-/system/project/avatar/${id}/avatar.png`);
    const address = new URL(body.avatar_url).pathname;
    const shown = await app.get(address, { token: owner.token });
    assert.equal(shown.status, 200);
    assert.equal(shown.headers["content-type"], "image/png");
    assert.equal((await app.get(address)).status, 404);
    assert.equal((await app.get(address, { token: user.token })).status, 404);
    assert.equal((await app.get(address.replace("avatar.png", "other.png"), { token: owner.token })).status, 404);
    const { body: without } = await app.put(`/projects/${id}`, { token: owner.token, payload: { avatar: "" } });
    assert.equal(without.avatar_url, null);
    assert.equal((await app.get(address, { token: owner.token })).status, 404);
  });
});
