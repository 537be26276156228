import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type Operation, operationsOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { pagedOf } from "#http/route.ts";
import { projectRepository } from "#git/storages/storage.ts";
import { resources } from "#domains/index.ts";
import { importInto, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import { recordStatements } from "#test/plans/record.ts";
import type { Name, Parent } from "./contract.ts";
import { isCodeChild } from "./matrix/code.ts";
import { linesOf } from "./matrix/cells.ts";
import { group, insertForId, membership, project, insert } from "./matrix/rows.ts";
import { type TestApp, testApp, type TestUser } from "./support/app.ts";
import { fixtures, makeFixtures, makeFixtureContext } from "./support/fixtures.ts";

const ROWS = 24;
/** Token, path, container, item, page, count, and related rows, each once for all rows. */
const MAX_STATEMENTS = 12;
/** How many rows a list must show for one statement per row to be noticed: the first page shows two. */
const MIN_ROWS = 4;

/** The number of statements of a list must not depend on the number of its rows. */
describe("statements of a list", () => {
  let app: TestApp;
  let administrator: TestUser;
  let member: TestUser;
  let ids: Readonly<Record<Parent["kind"], number>>;
  /** The names after that of the parent, by fixture. */
  const names = new Map<string, readonly Name[]>();

  before(async () => {
    app = await testApp();
    administrator = await app.makeUser({ admin: true });
    member = await app.makeUser();
    ids = await makeFullPlaces();
  });
  after(() => app.close());

  /** A group, a project and a user with many rows for every list. */
  async function makeFullPlaces() {
    const db = app.services.db.write;
    const context = makeFixtureContext(app);
    const groupId = await insertForId(db, "namespaces", group(null));
    // The groups of a project are those above it.
    let above = groupId;
    for (let depth = 0; depth < MIN_ROWS; depth++) above = await insertForId(db, "namespaces", group(above));
    const projectId = await insertForId(db, "projects", project(above));
    const own = { group: groupId, project: projectId, user: member.id };
    await insert(db, "members", [membership({ group_id: groupId }, member.id, "owner")]);
    for (const [fixture, { parents }] of fixtures) {
      for (const parent of parents) {
        const kind = parent === "top group" ? "group" : parent;
        const made = await makeFixtures(
          context,
          fixture,
          Array.from({ length: ROWS }, (_, row) => ({ kind, id: own[kind], name: String(row) })),
        );
        names.set(fixture, made[0] ?? []);
      }
    }
    for (let row = 0; row < ROWS; row++) await app.makeToken(member.id);
    await enrichProjects(own.group);
    await fillRepository(projectId);
    return own;
  }

  /** Members, stars and shares of the projects and groups that lists show. */
  async function enrichProjects(groupId: number) {
    const db = app.services.db.write;
    await sql`insert into members (user_id, project_id, access_level)
      select ${member.id}, id, 30 from projects where namespace_id = ${groupId} on conflict do nothing`.execute(db);
    await sql`insert into stars (user_id, project_id)
      select ${member.id}, id from projects where namespace_id = ${groupId}`.execute(db);
    await sql`insert into shares (project_id, with_group_id, access_level)
      select p.id, n.id, 20 from projects p, namespaces n
      where p.namespace_id = ${groupId} and n.parent_id = ${groupId} and (p.id + n.id) % 8 = 0 on conflict do nothing`.execute(
      db,
    );
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

  /** The path of a list, with the parent and whatever else its line names. */
  function pathOf(operation: Operation): string {
    const { path } = operation.endpoint;
    const [line] = linesOf(operation);
    const child = line?.container?.child ?? line?.has;
    const behind = child === undefined ? [] : isCodeChild(child) ? ["main"] : (names.get(child) ?? []);
    const values = new Map(
      pathNames(path).map((name, index) => [
        name,
        index === 0 ? ids[line?.container?.kind ?? "user"] : behind[index - 1],
      ]),
    );
    return path.replaceAll(/:(\w+)/g, (_, name: string) => {
      const value = values.get(name);
      assert.ok(value !== undefined, `the line says nothing that stands for :${name}`);
      return encodeURIComponent(String(value));
    });
  }

  const lists = operationsOf(resources).filter(
    ({ endpoint }) => endpoint.method === "GET" && pagedOf(endpoint.returns) !== undefined,
  );
  for (const operation of lists) {
    const { path } = operation.endpoint;
    test(path, async () => {
      const shown: number[] = [];
      for (const { token } of [administrator, member]) {
        const few = await statementsOf(`${pathOf(operation)}?per_page=2`, token);
        const many = await statementsOf(`${pathOf(operation)}?per_page=20`, token);
        if (many.status === 403) continue;
        shown.push(many.rows);
        assert.ok(many.count <= MAX_STATEMENTS, `${many.count} statements`);
        assert.ok(
          many.count <= few.count + 1,
          `${few.count} statements for ${few.rows} rows, ${many.count} for ${many.rows}`,
        );
      }
      assert.ok(Math.max(0, ...shown) >= MIN_ROWS, `the list shows ${shown.join(" and ")} rows`);
    });
  }

  test("there are lists", () => assert.ok(lists.length >= 40, String(lists.length)));

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
