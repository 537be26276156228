import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

interface Named {
  readonly id: number;
}

describe("stars of a project", () => {
  let app: TestApp;
  let insert: RowInserter;
  let user: TestUser;
  let admin: TestUser;
  let group: number;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    [user, admin] = await Promise.all([app.makeUser(), app.makeUser({ admin: true })]);
    group = await insert.group(undefined, { visibility: VISIBILITIES.private });
  });
  after(() => app.close());

  const get = async (address: string, token?: string) => {
    const { status, body, text } = await app.get(address, { token });
    assert.equal(status, 200, `${address} ${text}`);
    return body;
  };
  const idsAt = async (address: string, token?: string) => (await get(address, token)).map(({ id }: Named) => id);

  const act = (id: number, action: string, { token }: TestUser) => app.post(`/projects/${id}/${action}`, { token });

  test("starring or unstarring twice is 304", async () => {
    const id = await insert.project(group, { visibility: VISIBILITIES.internal });
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
    const hidden = await insert.project(group);
    assert.equal((await act(hidden, "star", user)).status, 404);
  });

  test("the count is exact under concurrent requests", async () => {
    const id = await insert.project(group, { visibility: VISIBILITIES.internal });
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

  test("stars of private profiles are visible to themselves and administrators only", async () => {
    const id = await insert.project(group, { visibility: VISIBILITIES.public });
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
