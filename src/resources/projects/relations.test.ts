import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { dayFromNow, type Ground, ground } from "#resources/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

interface Named {
  readonly id: number;
}

describe("what a project is related to", () => {
  let app: TestApp;
  let on: Ground;
  let owner: TestUser;
  let user: TestUser;
  let admin: TestUser;
  let group: number;
  before(async () => {
    app = await testApp();
    on = ground(app);
    [owner, user, admin] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser({ admin: true })]);
    group = await on.group(undefined, { visibility: VISIBILITIES.private });
    await on.member(owner, { group_id: group }, "owner");
  });
  after(() => app.close());

  const get = async (address: string, token?: string) => {
    const { status, body, text } = await app.get(address, { token });
    assert.equal(status, 200, `${address} ${text}`);
    return body;
  };
  const idsAt = async (address: string, token?: string) => (await get(address, token)).map(({ id }: Named) => id);

  describe("permissions", () => {
    const permissionsOf = async (id: number, { token }: TestUser) => {
      const { permissions } = await get(`/projects/${id}`, token);
      const listed = (await get(`/projects?per_page=100&id_after=${id - 1}&id_before=${id + 1}`, token)).at(0);
      assert.deepEqual(listed.permissions, permissions, "a list shows what the project itself shows");
      return [permissions.project_access?.access_level ?? null, permissions.group_access?.access_level ?? null];
    };

    test("tell the level in the project from the one that groups give", async () => {
      const top = await on.group();
      const sub = await on.group(top);
      const id = await on.project(sub);
      const [direct, inherited, both, nobody] = await Promise.all([1, 2, 3, 4].map(() => app.makeUser()));
      assert.ok(direct && inherited && both && nobody);
      await on.member(direct, { project_id: id }, "developer");
      await on.member(inherited, { group_id: top }, "maintainer");
      await on.member(both, { project_id: id }, "owner");
      await on.member(both, { group_id: top }, "guest");
      await on.member(both, { group_id: sub }, "reporter");
      assert.deepEqual(await permissionsOf(id, direct), [30, null]);
      assert.deepEqual(await permissionsOf(id, inherited), [null, 40]);
      assert.deepEqual(await permissionsOf(id, both), [50, 20]);
      assert.deepEqual(await permissionsOf(id, admin), [null, null]);
      assert.equal((await app.get(`/projects/${id}`, { token: nobody.token })).status, 404);
    });

    test("count shares up to their level, until the day they end", async () => {
      const [place, invited] = [await on.group(), await on.group()];
      const below = await on.group(invited);
      const id = await on.project(place);
      const other = await on.project(place);
      const [one, two, minimal] = await Promise.all([1, 2, 3].map(() => app.makeUser()));
      assert.ok(one && two && minimal);
      await on.member(one, { group_id: invited }, "owner");
      await on.member(two, { group_id: invited }, "reporter");
      await on.member(minimal, { group_id: invited }, "minimal");
      await on.share({ project_id: id }, below, "developer");
      assert.deepEqual(await permissionsOf(id, one), [null, 30]);
      assert.deepEqual(await permissionsOf(id, two), [null, 20]);
      for (const { token } of [minimal]) assert.equal((await app.get(`/projects/${id}`, { token })).status, 404);
      await on.share({ group_id: place }, invited, "guest");
      assert.deepEqual(await permissionsOf(other, one), [null, 10]);
      await on.share({ project_id: other, expires_at: dayFromNow(0) }, invited, "owner");
      assert.deepEqual(await permissionsOf(other, one), [null, 10], "a share that has ended gives nothing");
    });

    test("are not shown in short, nor to who is not signed in", async () => {
      const id = await on.project(group, { visibility: VISIBILITIES.public });
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

  describe("sharing with a group", () => {
    const share = (id: number, token: string, payload: object) => app.post(`/projects/${id}/share`, { token, payload });

    test("is for Maintainers, up to what they are themselves", async () => {
      const maintainer = await app.makeUser();
      const developer = await app.makeUser();
      const id = await on.project(group);
      const other = await on.group();
      await on.member(maintainer, { project_id: id }, "maintainer");
      await on.member(developer, { project_id: id }, "developer");
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

    test("is not ended by who has less than it gives", async () => {
      const [maintainer, administrator] = [await app.makeUser(), await app.makeUser({ admin: true })];
      const id = await on.project(group);
      const other = await on.group();
      await on.member(maintainer, { project_id: id }, "maintainer");
      const address = `/projects/${id}/share/${other}`;
      for (const { token } of [owner, administrator]) {
        await on.share({ project_id: id }, other, "owner");
        const { status, body } = await app.delete(address, { token: maintainer.token });
        assert.equal(status, 403);
        assert.deepEqual(body, { message: "403 Forbidden" });
        assert.equal((await app.delete(address, { token })).status, 204);
      }
      assert.equal((await app.delete(address, { token: maintainer.token })).status, 404);
    });

    test("refuses what cannot be", async () => {
      const id = await on.project(group);
      const other = await on.group();
      const hidden = await on.group(undefined, { visibility: VISIBILITIES.private });
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

    test("that has ended can begin anew", async () => {
      const id = await on.project(group);
      const other = await on.group();
      await on.share({ project_id: id, expires_at: "2020-01-01" }, other, "guest");
      assert.deepEqual((await get(`/projects/${id}`, owner.token)).shared_with_groups, []);
      assert.equal((await share(id, owner.token, { group_id: other, group_access: 30 })).status, 201);
    });

    test("tells of a hidden group only those who see it", async () => {
      const id = await on.project(group, { visibility: VISIBILITIES.public });
      const hidden = await on.group(undefined, { visibility: VISIBILITIES.private });
      await on.share({ project_id: id }, hidden, "developer");
      const insider = await app.makeUser();
      await on.member(insider, { group_id: hidden }, "guest");
      const shown = async ({ token }: TestUser) => (await get(`/projects/${id}`, token)).shared_with_groups.length;
      assert.deepEqual([await shown(insider), await shown(user), await shown(admin)], [1, 0, 1]);
      assert.deepEqual(await idsAt(`/projects/${id}/groups?with_shared=true`), []);
    });
  });

  test("its groups are those above it and, if asked for, those it is shared with", async () => {
    const top = await on.group(undefined, { name: "Top of it" });
    const sub = await on.group(top, { name: "Below it" });
    const other = await on.group(undefined, { name: "Beside it" });
    const id = await on.project(sub, { visibility: VISIBILITIES.public });
    await on.share({ project_id: id }, other, "reporter");
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

  test("its users are all who belong to it by any way", async () => {
    const top = await on.group();
    const other = await on.group();
    const id = await on.project(await on.group(top));
    const people = await Promise.all([1, 2, 3, 4].map(() => app.makeUser()));
    const [direct, inherited, invited, minimal] = people;
    assert.ok(direct && inherited && invited && minimal);
    await on.member(direct, { project_id: id }, "guest");
    await on.member(inherited, { group_id: top }, "developer");
    await on.member(invited, { group_id: other }, "developer");
    await on.member(minimal, { group_id: top }, "minimal");
    await on.share({ project_id: id }, other, "reporter");
    const expected = [direct.id, inherited.id, invited.id].toSorted((a, b) => a - b);
    assert.deepEqual(await idsAt(`/projects/${id}/users`, direct.token), expected);
    assert.deepEqual(await idsAt(`/projects/${id}/users?search=${inherited.username}`, direct.token), [inherited.id]);
    assert.equal((await app.get(`/projects/${id}/users`, { token: user.token })).status, 404);
  });

  describe("stars", () => {
    const act = (id: number, action: string, { token }: TestUser) => app.post(`/projects/${id}/${action}`, { token });

    test("are given and taken once", async () => {
      const id = await on.project(group, { visibility: VISIBILITIES.internal });
      const before = await get(`/projects/${id}`, user.token);
      assert.equal((await app.post(`/projects/${id}/star`)).status, 401);
      const { status, body } = await act(id, "star", user);
      assert.equal(status, 201);
      assert.deepEqual(body, { ...before, star_count: 1 });
      const again = await act(id, "star", user);
      assert.equal(again.status, 304);
      assert.equal(again.text, "");
      assert.equal(again.headers["content-type"], undefined);
      assert.equal((await act(id, "unstar", user)).body.star_count, 0);
      assert.equal((await act(id, "unstar", user)).status, 304);
      const hidden = await on.project(group);
      assert.equal((await act(hidden, "star", user)).status, 404);
    });

    test("are counted exactly when many come and go at once", async () => {
      const id = await on.project(group, { visibility: VISIBILITIES.internal });
      const fans = await Promise.all(Array.from({ length: 8 }, () => app.makeUser()));
      const answers = await Promise.all([...fans, ...fans, ...fans].map((fan) => act(id, "star", fan)));
      assert.equal(answers.filter(({ status }) => status === 201).length, 8);
      assert.equal(answers.filter(({ status }) => status === 304).length, 16);
      assert.equal((await get(`/projects/${id}`, user.token)).star_count, 8);
      await Promise.all([...fans.slice(3), ...fans.slice(3)].map((fan) => act(id, "unstar", fan)));
      assert.equal((await get(`/projects/${id}`, user.token)).star_count, 3);
      const starrers = await get(`/projects/${id}/starrers`, user.token);
      assert.deepEqual(
        starrers.map(({ user: { id } }: { user: Named }) => id),
        fans
          .slice(0, 3)
          .map(({ id }) => id)
          .toSorted((a, b) => a - b),
      );
      assert.match(starrers[0].starred_since, /^\d{4}-\d\d-\d\dT.*Z$/);
    });

    test("of private profiles are shown to themselves and administrators", async () => {
      const id = await on.project(group, { visibility: VISIBILITIES.public });
      const shy = await app.makeUser({ private_profile: true });
      await act(id, "star", shy);
      await act(id, "star", user);
      const shown = async (token?: string, search = "") =>
        (await get(`/projects/${id}/starrers${search}`, token)).map(({ user: { id } }: { user: Named }) => id);
      assert.deepEqual(await shown(), [user.id]);
      assert.deepEqual(await shown(shy.token), [user.id, shy.id]);
      assert.deepEqual(await shown(admin.token), [user.id, shy.id]);
      assert.deepEqual(await shown(admin.token, `?search=${shy.username}`), [shy.id]);
      assert.deepEqual(await idsAt(`/users/${shy.id}/starred_projects`, user.token), []);
      assert.deepEqual(await idsAt(`/users/${shy.username}/starred_projects`, shy.token), [id]);
      assert.deepEqual(await idsAt(`/users/${shy.id}/starred_projects`, admin.token), [id]);
    });
  });

  test("its avatar is shown to who may see the project", async () => {
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
    const id = await on.project(group);
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
