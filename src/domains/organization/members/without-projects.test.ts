import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { join, makeGroup, makeProject } from "#domains/organization/groups/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("GET /users?without_projects=true", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const isListed = async ({ id }: TestUser): Promise<boolean> => {
    const { body } = await app.get("/users?without_projects=true&per_page=100", { token: admin.token });
    return body.some((user: TestUser) => user.id === id);
  };
  const share = (columns: object, withGroup: { id: number }) =>
    app.services.db.write
      .insertInto("shares")
      .values({ with_group_id: withGroup.id, access_level: 10, ...columns })
      .execute();

  /** A user, and a group with a project in its subgroup. */
  async function tree() {
    const top = await makeGroup(app, admin);
    const sub = await makeGroup(app, admin, { parent_id: top.id });
    const project = await makeProject(app, sub.id);
    return { user: await app.makeUser(), top, sub, project };
  }

  test("lists who belongs nowhere, or only to what has no project", async () => {
    const { user, top } = await tree();
    assert.equal(await isListed(user), true);
    await join(app, (await makeGroup(app, admin)).id, user, 50);
    assert.equal(await isListed(user), true, "the group is empty");
    await join(app, top.id, user, 5);
    assert.equal(await isListed(user), true, "minimal access opens no project");
  });

  test("leaves out who is in a project, also one of their own", async () => {
    const { user, project } = await tree();
    const values = { user_id: user.id, project_id: project.id, access_level: 10 };
    await app.services.db.write.insertInto("members").values(values).execute();
    assert.equal(await isListed(user), false);
    await app.services.db.write
      .updateTable("members")
      .set({ expires_at: "2020-01-01" })
      .where("user_id", "=", user.id)
      .execute();
    assert.equal(await isListed(user), true, "it expired");
    await app.post("/projects", { token: user.token, payload: { name: "Own" } });
    assert.equal(await isListed(user), false);
  });

  test("leaves out who owns a project through its group, or one above", async () => {
    for (const where of ["sub", "top"] as const) {
      for (const level of [50, 10]) {
        const { user, ...groups } = await tree();
        await join(app, groups[where].id, user, level);
        assert.equal(await isListed(user), false, `${level} in ${where}`);
      }
    }
  });

  test("leaves out who reaches a project through a share", async () => {
    for (const shared of ["project", "group"] as const) {
      const { user, top, project } = await tree();
      const team = await makeGroup(app, admin);
      await join(app, team.id, user, 30);
      assert.equal(await isListed(user), true);
      await share(shared === "project" ? { project_id: project.id } : { group_id: top.id }, team);
      assert.equal(await isListed(user), false, shared);
    }
  });
});
