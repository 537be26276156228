import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { operationsOf } from "#http/app.ts";
import { pagedOf } from "#http/serve.ts";
import { projectRepository } from "#git/storages/storage.ts";
import { resources } from "#resources/index.ts";
import { importInto, streamOfCommits } from "#resources/repositories/test-support.ts";
import { recordStatements } from "#test/plans/record.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";

const ROWS = 24;
/** Token, address, container, page, count, and what more a row shows, each once for all rows. */
const MOST = 12;

/** How many statements a list takes must not depend on how many rows it shows. */
describe("statements of a list", () => {
  let app: TestApp;
  let administrator: TestUser;
  let member: TestUser;
  let ids: Record<string, string>;

  before(async () => {
    app = await testApp();
    administrator = await app.makeUser({ admin: true });
    member = await app.makeUser();
    ids = await makeFullPlaces();
  });
  after(() => app.close());

  /** A group and a project that hold many of everything a list may show. */
  async function makeFullPlaces(): Promise<Record<string, string>> {
    const { write } = app.services.db;
    const group = await made("/groups", { name: "Full", path: `full-${member.id}` });
    const project = await made("/projects", { name: "Full", namespace_id: group });
    for (let row = 0; row < ROWS; row++) {
      const user = await app.makeUser();
      const subgroup = await made("/groups", { name: `Sub ${row}`, path: `sub-${row}`, parent_id: group });
      const inside = await made("/projects", { name: `Inside ${row}`, namespace_id: row % 2 ? group : subgroup });
      await made("/projects", { name: `Own ${row}` }, member);
      await sql`insert into members (user_id, group_id, access_level) values (${user.id}, ${group}, 30)`.execute(write);
      await sql`insert into members (user_id, project_id, access_level) values (${user.id}, ${project}, 40)`.execute(
        write,
      );
      await sql`insert into shares (project_id, with_group_id, access_level) values (${inside}, ${subgroup}, 20)`.execute(
        write,
      );
      await sql`insert into stars (user_id, project_id) values (${user.id}, ${project}), (${member.id}, ${inside})`.execute(
        write,
      );
      await app.makeToken(member.id);
    }
    await sql`insert into members (user_id, group_id, access_level) values (${member.id}, ${group}, 50)`.execute(write);
    const robots = { user_type: "service_account", provisioned_by_group_id: group } as const;
    const [robot] = [await app.makeUser(robots), await app.makeUser(robots), await app.makeUser(robots)];
    for (let row = 0; row < ROWS; row++) {
      await app.makeToken(robot.id);
      await app.makeToken(member.id, { impersonation: true });
      await made(`/projects/${project}/deploy_keys`, { title: "Robot", key: newSshKey() });
    }
    await fillRepository(project);
    return { group: String(group), project: String(project), user: String(member.id), robot: String(robot.id) };
  }

  /** Many commits by many authors; the last has many files, and many branches and tags lead to it. */
  async function fillRepository(project: number) {
    const rows = Array.from({ length: ROWS }, (_, row) => row);
    const commits = rows.map((row) => ({
      message: "Work",
      author: `Author ${row} <author-${row}@example.com>`,
      files: row === ROWS - 1 ? Object.fromEntries(rows.map((file) => [`file-${file}`, "x"])) : { [`at-${row}`]: "x" },
    }));
    const repository = app.services.git.storage("default").repository(projectRepository(project));
    await repository.create("main");
    await importInto(repository, streamOfCommits(commits));
    const refs = rows.flatMap((row) => [`refs/heads/branch-${row}`, `refs/tags/tag-${row}`]);
    await importInto(repository, refs.map((ref) => `reset ${ref}\nfrom refs/heads/main\n\n`).join(""));
  }

  async function made(path: string, payload: object, by = administrator): Promise<number> {
    const { status, body, text } = await app.post(path, { token: by.token, payload });
    assert.equal(status, 201, text);
    return body.id;
  }

  /** What stands for a name in a path, by what comes before it. */
  function fill(path: string): string {
    return path
      .replace(/\/service_accounts\/:user_id/, `/service_accounts/${ids["robot"]}`)
      .replace(/^\/groups\/:id/, `/groups/${ids["group"]}`)
      .replace(/\/commits\/:sha/, "/commits/main")
      .replace(/^\/projects\/:id/, `/projects/${ids["project"]}`)
      .replace(/^\/users\/:\w+/, `/users/${ids["user"]}`);
  }

  for (const { endpoint } of operationsOf(resources)) {
    if (endpoint.method !== "GET" || !pagedOf(endpoint.returns)) continue;
    test(endpoint.path, async () => {
      const path = fill(endpoint.path);
      assert.doesNotMatch(path, /:/, "a name in the path that this test has no value for");
      for (const { token } of [administrator, member]) {
        const few = await statementsOf(`${path}?per_page=2`, token);
        const many = await statementsOf(`${path}?per_page=20`, token);
        if (many.status === 403) continue;
        assert.ok(many.rows > 2 || few.rows <= 2, path);
        assert.ok(many.count <= MOST, `${many.count} statements`);
        assert.ok(
          many.count <= few.count + 1,
          `${few.count} statements for ${few.rows} rows, ${many.count} for ${many.rows}`,
        );
      }
    });
  }

  async function statementsOf(path: string, token: string) {
    let rows = 0;
    let status = 0;
    const statements = await recordStatements(async () => {
      const reply = await app.get(path, { token });
      status = reply.status;
      rows = status === 200 ? reply.body.length : 0;
      assert.ok(status === 200 || status === 403, `${path}: ${reply.text}`);
    });
    return { rows, status, count: statements.length };
  }
});
