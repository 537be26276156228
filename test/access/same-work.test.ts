import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { ownerAt } from "#domains/code/transport/owners.ts";
import { type Recorded, recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const ABSENT = 999_999_999;
const SITE = "http://localhost";
const GIT = "info/refs?service=git-upload-pack";

const textOf = ({ text }: Recorded) => text;
const withRows = ({ text, rows }: Recorded) => `${rows} rows: ${text}`;

/** The response time must not tell a hidden thing from an absent one: both take the same statements. */
describe("a hidden thing takes the same work as an absent one", () => {
  let app: TestApp;
  let insert: RowInserter;
  let stranger: TestUser;
  let member: TestUser;
  let group: { id: number; path: string };
  let project: { id: number; path: string };
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    stranger = await app.makeUser();
    // A caller with memberships causes more lookups than one without.
    member = await app.makeUser();
    const closed = { visibility: VISIBILITIES.private };
    await insert.member(member, { project_id: await insert.project(await insert.group()) }, "developer");
    const groupId = await insert.group(undefined, closed);
    const projectId = await insert.project(groupId, closed);
    const { rows } = await sql<{ group: string; project: string }>`
      select n.path as group, p.path as project from projects p join namespaces n on n.id = p.namespace_id
      where p.id = ${projectId}`.execute(app.services.db.read);
    const [paths = { group: "", project: "" }] = rows;
    group = { id: groupId, path: paths.group };
    project = { id: projectId, path: `${paths.group}/${paths.project}` };
  });
  after(() => app.close());

  /** The answer to a refused request, and its statements, each with the number of rows that it returned. */
  async function workOf(path: string, token: string | undefined) {
    let answer = "";
    const statements = await recordStatements(async () => {
      const { status, text } = await app.get(path, { token });
      assert.ok(status === 404 || status === 401, `${path}: ${status} ${text}`);
      answer = `${status} ${text}`;
    });
    // The settings of the instance are read once a second, independently of requests.
    return { answer, statements: statements.filter(({ text }) => text !== "select * from settings") };
  }

  async function compare(hidden: string, absent: string) {
    for (const token of [undefined, stranger.token, member.token]) {
      const [one, other] = [await workOf(hidden, token), await workOf(absent, token)];
      assert.equal(one.answer, other.answer);
      assert.deepEqual(one.statements.map(withRows), other.statements.map(withRows), hidden);
    }
  }

  const word = () => `w-${randomUUID().slice(0, 13)}`;
  const encoded = (path: string) => encodeURIComponent(path);

  test("projects by id", () => compare(`/projects/${project.id}`, `/projects/${ABSENT}`));
  test("projects by path", async () => {
    await compare(`/projects/${encoded(project.path)}`, `/projects/${encoded(`${word()}/${word()}`)}`);
    await compare(`/projects/${encoded(project.path)}`, `/projects/${encoded(`${group.path}/${word()}`)}`);
  });
  test("things in a project", () =>
    compare(`/projects/${encoded(project.path)}/members/all`, `/projects/${encoded(`${group.path}/a`)}/members/all`));
  test("groups by id", () => compare(`/groups/${group.id}`, `/groups/${ABSENT}`));
  test("groups by path", () => compare(`/groups/${group.path}`, `/groups/${word()}`));
  test("namespaces", async () => {
    await compare(`/namespaces/${group.id}`, `/namespaces/${ABSENT}`);
    await compare(`/namespaces/${group.path}`, `/namespaces/${word()}`);
    await compare(`/namespaces/${stranger.username}x`, `/namespaces/${word()}`);
  });
  test("avatars", () =>
    compare(
      `/uploads/-/system/group/avatar/${group.id}/avatar.png`,
      `/uploads/-/system/group/avatar/${ABSENT}/avatar.png`,
    ));

  test("closed accounts for anonymous callers, by id and by name", async () => {
    const closed = await app.makeUser({ state: "blocked" });
    for (const [hidden, absent] of [
      [closed.id, ABSENT],
      [closed.username, word()],
    ]) {
      const [one, other] = [
        await workOf(`/users/${hidden}/keys`, undefined),
        await workOf(`/users/${absent}/keys`, undefined),
      ];
      assert.equal(one.answer, other.answer);
      assert.deepEqual(one.statements.map(textOf), other.statements.map(textOf));
    }
  });

  test("URLs of git", async () => {
    for (const absent of [`${word()}/${word()}`, `${group.path}/${word()}`])
      await compare(`${SITE}/${project.path}.git/${GIT}`, `${SITE}/${absent}.git/${GIT}`);
  });

  test("URLs of wikis", async () => {
    for (const absent of [`${word()}/${word()}`, `${group.path}/${word()}`])
      await compare(`${SITE}/${project.path}.wiki.git/${GIT}`, `${SITE}/${absent}.wiki.git/${GIT}`);
    await compare(`${SITE}/${group.path}.wiki.git/${GIT}`, `${SITE}/${word()}.wiki.git/${GIT}`);
  });

  test("projects that did not enable a deploy key", async () => {
    const key = { id: ABSENT, title: "Robot", user_id: stranger.id };
    const of = async (path: string) => {
      const statements = await recordStatements(() =>
        assert.rejects(ownerAt(app.services.db, { kind: "deploy key", key }, path), /no repository/),
      );
      return statements.map(withRows);
    };
    assert.deepEqual(await of(project.path), await of(`${word()}/${word()}`));
  });
});
