import assert from "node:assert/strict";
import { sql } from "kysely";
import { type Operation, operationsOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { pagedOf } from "#http/route.ts";
import { projectRepository } from "#git/storages/storage.ts";
import { resources } from "#domains/index.ts";
import { importInto, streamOfCommits } from "#domains/storage/repositories/test-support.ts";
import type { Name, Parent } from "#test/contract.ts";
import { linesOf } from "#test/matrix/cells.ts";
import { isCodeChild } from "#test/matrix/code.ts";
import { group, insert, insertForId, membership, project } from "#test/matrix/rows.ts";
import type { TestApp, TestUser } from "./app.ts";
import { fixtures, makeFixtureContext, makeFixtures } from "./fixtures.ts";

/** A group, a project and a user with many rows for every list. */
export interface FullPlaces {
  readonly ids: Readonly<Record<Parent["kind"], number>>;
  /** The names after that of the parent, by fixture. */
  readonly names: ReadonlyMap<string, readonly Name[]>;
}

/** How many groups are above the project, since its list of groups has just these. */
const DEPTH = 4;

/** Every endpoint that answers with a page. */
export const lists = operationsOf(resources).filter(
  ({ endpoint }) => endpoint.method === "GET" && pagedOf(endpoint.returns) !== undefined,
);

/** The path of a list, with the parent and whatever else its line names. */
export function pathOfList({ ids, names }: FullPlaces, operation: Operation): string {
  const { path } = operation.endpoint;
  const [line] = linesOf(operation);
  const child = line?.container?.child ?? line?.has;
  const behind = child === undefined ? [] : isCodeChild(child) ? ["main"] : (names.get(child) ?? []);
  const first = names.get(line?.object ?? "")?.[0] ?? ids[line?.container?.kind ?? "user"];
  const values = new Map(pathNames(path).map((name, index) => [name, index === 0 ? first : behind[index - 1]]));
  return path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = values.get(name);
    assert.ok(value !== undefined, `the line says nothing that stands for :${name}`);
    return encodeURIComponent(String(value));
  });
}

/** Creates places with this many rows of every fixture, all of which the member sees. */
export async function makeFullPlaces(app: TestApp, member: TestUser, rows: number): Promise<FullPlaces> {
  const db = app.services.db.write;
  const context = makeFixtureContext(app);
  const groupId = await insertForId(db, "namespaces", group(null));
  let above = groupId;
  for (let depth = 0; depth < DEPTH; depth++) above = await insertForId(db, "namespaces", group(above));
  const projectId = await insertForId(db, "projects", project(above));
  const ids = { group: groupId, project: projectId, user: member.id };
  await insert(db, "members", [membership({ group_id: groupId }, member.id, "owner")]);
  const names = new Map<string, readonly Name[]>();
  for (const [fixture, { parents }] of fixtures) {
    for (const parent of parents) {
      const kind = parent === "top group" ? "group" : parent;
      const places = Array.from({ length: rows }, (_, row) => ({ kind, id: ids[kind], name: String(row) }));
      names.set(fixture, (await makeFixtures(context, fixture, places))[0] ?? []);
    }
  }
  for (let row = 0; row < rows; row++) await app.makeToken(member.id);
  await enrichProjects(app, member, groupId);
  await fillRepository(app, projectId, rows);
  return { ids, names };
}

/** Members, stars and shares of the projects and groups that lists show. */
async function enrichProjects({ services }: TestApp, member: TestUser, groupId: number) {
  const db = services.db.write;
  await sql`insert into members (user_id, project_id, access_level)
    select ${member.id}, id, 30 from projects where namespace_id = ${groupId} on conflict do nothing`.execute(db);
  await sql`insert into stars (user_id, project_id)
    select ${member.id}, id from projects where namespace_id = ${groupId}`.execute(db);
  await sql`insert into shares (project_id, with_group_id, access_level)
    select p.id, n.id, 20 from projects p, namespaces n
    where p.namespace_id = ${groupId} and n.parent_id = ${groupId} and (p.id + n.id) % 8 = 0
    on conflict do nothing`.execute(db);
}

/** Many commits by many authors; the last has many files, and many branches and tags lead to it. */
async function fillRepository({ services }: TestApp, projectId: number, count: number) {
  const rows = Array.from({ length: count }, (_, row) => row);
  const commits = rows.map((row) => ({
    message: "Work",
    author: `Author ${row} <author-${row}@example.com>`,
    files: row === count - 1 ? Object.fromEntries(rows.map((file) => [`file-${file}`, "x"])) : { [`at-${row}`]: "x" },
  }));
  const repository = services.git.storage("default").repository(projectRepository(projectId));
  await repository.create("main");
  await importInto(repository, streamOfCommits(commits));
  const refs = rows.flatMap((row) => [`refs/heads/branch-${row}`, `refs/tags/tag-${row}`]);
  await importInto(repository, refs.map((ref) => `reset ${ref}\nfrom refs/heads/main\n\n`).join(""));
}
