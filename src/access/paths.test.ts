import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { byFullPath, resolveNamespace, resolveProject } from "./paths.ts";

const LEVELS = 20;
/** For each segment: the places it may lead to, as current and as previous paths. */
const MAX_ROWS = (LEVELS + 1) * 8;

describe("full paths", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  const word = () => `g${randomUUID().slice(0, 12)}`;

  async function addGroups(count: number): Promise<number[]> {
    const values = Array.from({ length: count }, () => ({ kind: "group" as const, name: "g", path: word() }));
    const rows = await app.services.db.write.insertInto("namespaces").values(values).returning("id").execute();
    return rows.map(({ id }) => id);
  }

  const addRoutes = (routes: readonly { parent: number; path: string; to: number; moved: boolean }[]) =>
    app.services.db.write
      .insertInto("routes")
      .values(routes.map(({ parent, path, to, moved }) => ({ parent_id: parent, path, namespace_id: to, moved })))
      .execute();

  /** The rows that the walk along a path produces. */
  async function walkedRows(path: string): Promise<number> {
    const text = byFullPath.text.replace("$1::text[]", `array['${path}']`);
    const { rows } = await sql<{ "QUERY PLAN": [{ Plan: Plan }] }>`
      explain (analyze, timing off, format json) ${sql.raw(text)}`.execute(app.services.db.write);
    return rows[0] ? rowsOfUnion(rows[0]["QUERY PLAN"][0].Plan) : 0;
  }

  it("are found in few steps where two groups on each level took each other's places", async () => {
    const root = word();
    const [first = 0, ...groups] = await addGroups(2 * LEVELS + 1);
    await addRoutes([{ parent: 0, path: root, to: first, moved: false }]);
    let parents = [first];
    for (let level = 0; level < LEVELS; level++) {
      const [one = 0, other = 0] = groups.slice(2 * level, 2 * level + 2);
      await addRoutes(
        parents.flatMap((parent, index) => [
          { parent, path: "x", to: index === 0 ? one : other, moved: false },
          { parent, path: "x", to: index === 0 ? other : one, moved: true },
        ]),
      );
      parents = [one, other];
    }
    const path = [root, ...Array.from({ length: LEVELS }, () => "x")].join("/");
    assert.deepEqual(await resolveNamespace(app.services.db, path), { id: parents[0], moved: false });
    assert.equal((await resolveProject(app.services.db, `${path.slice(0, -2)}/none`)).id, 0);
    assert.ok((await walkedRows(path)) <= MAX_ROWS, `${await walkedRows(path)} rows`);
  });

  it("are found in few steps where each place leads to two others", async () => {
    const root = word();
    const depth = 8;
    const groups = await addGroups(2 ** (depth + 1));
    await addRoutes([{ parent: 0, path: root, to: groups[1] ?? 0, moved: false }]);
    await addRoutes(
      Array.from({ length: 2 ** depth - 1 }, (_, index) => index + 1).flatMap((index) => [
        { parent: groups[index] ?? 0, path: "x", to: groups[2 * index] ?? 0, moved: false },
        { parent: groups[index] ?? 0, path: "x", to: groups[2 * index + 1] ?? 0, moved: true },
      ]),
    );
    const path = [root, ...Array.from({ length: depth }, () => "x")].join("/");
    assert.deepEqual(await resolveNamespace(app.services.db, path), { id: groups[2 ** depth], moved: false });
    assert.ok((await walkedRows(path)) <= MAX_ROWS, `${await walkedRows(path)} rows`);
  });

  it("lead through previous paths on several levels", async () => {
    const [top = 0, middle = 0, bottom = 0] = await addGroups(3);
    const names = [word(), word(), word()];
    await addRoutes([
      { parent: 0, path: names[0] ?? "", to: top, moved: true },
      { parent: top, path: names[1] ?? "", to: middle, moved: true },
      { parent: middle, path: names[2] ?? "", to: bottom, moved: false },
    ]);
    assert.deepEqual(await resolveNamespace(app.services.db, names.join("/")), { id: bottom, moved: true });
  });
});

interface Plan {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly Plans?: readonly Plan[];
}

function rowsOfUnion(plan: Plan): number {
  if (plan["Node Type"] === "Recursive Union") return plan["Actual Rows"];
  return Math.max(0, ...(plan.Plans ?? []).map(rowsOfUnion));
}
