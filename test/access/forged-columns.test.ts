import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { operationsOf } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";
import { resources } from "#resources/index.ts";
import { prepare, requestOf } from "#test/matrix/ask.ts";
import { type Cell, cellsOf, keyOf, linesOf } from "#test/matrix/cells.ts";
import { makeWorld, type World } from "#test/matrix/world.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { NOTED } from "./support.ts";

/** Tables whose columns are no business of a caller unless an endpoint takes a parameter of that name. */
const TABLES = [
  ...["namespaces", "projects", "members", "shares", "stars", "settings"],
  ...["users", "personal_access_tokens", "emails", "identities", "user_custom_attributes", "user_statuses"],
  ...["keys", "sessions", "second_factors", "mailed_links", "verified_domains"],
  ...["deploy_keys_projects", "repositories", "events"],
];

/** What no two rows have in common, or no two moments. */
const UNLIKE = new Set([
  ...["path", "name", "search_text", "username", "email", "token_digest", "traversal_ids", "subtree_end", "bio"],
  ...["created_at", "updated_at", "last_activity_at", "confirmed_at", "revoked_at", "marked_for_deletion_at"],
  ...[
    "description",
    "removal_began_at",
    "key",
    "message",
    "domain",
    "email_domain",
    "verified_at",
    "verification_code",
  ],
  ...["password_digest", "digest", "sealed_secret", "fingerprint_md5", "fingerprint_sha256", "title", "size_bytes"],
  ...["ref", "commit_from", "commit_to", "pushed_at"],
  ...["current_sign_in_at", "last_sign_in_at", "last_seen_at", "ends_at", "last_step"],
]);

/**
 * Writes that cannot be done twice alike, or that the matrix has no code or password for, or where nothing is left to
 * be written, or only by a job; they name their columns.
 */
const ELSEWHERE = new Set([
  ...["POST /-/account/forgotten", "DELETE /session", "DELETE /user/sessions", "PUT /user/password"],
  ...["POST /user/two_factor", "PUT /user/two_factor", "DELETE /user/two_factor"],
  "POST /user/two_factor/recovery_codes",
  ...["POST /projects/:id/deploy_keys/:key_id/enable", "POST /*project.git/git-upload-pack"],
  "DELETE /projects/:id/repository/merged_branches",
]);

type Row = Readonly<Record<string, unknown>>;

/** Every write is done twice, the second time with every column of our tables in the request; both do the same. */
describe("columns that are no parameters", () => {
  let app: TestApp;
  let world: World;
  let columns: readonly { readonly name: string; readonly type: string }[];
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    world = await makeWorld(app);
    const { rows } = await sql<{ name: string; type: string }>`
      select distinct column_name as name, data_type as type from information_schema.columns
      where table_name = any(${TABLES})`.execute(app.services.db.write);
    columns = rows;
  });
  after(() => app.close());

  const writes = operationsOf(resources).filter(({ endpoint }) => endpoint.method !== "GET");
  for (const operation of writes.filter((write) => !ELSEWHERE.has(keyOf(write)))) {
    for (const [index, line] of linesOf(operation).entries()) {
      test(index === 0 ? keyOf(operation) : `${keyOf(operation)}, another way`, async () => {
        const cell = ["owner", "user", "administrator"]
          .map((name) => cellsOf(operation, line).find((found) => found.caller.name === name && isInOrder(found)))
          .find((found) => found !== undefined);
        assert.ok(cell, "nobody may");
        const usual = await effectOf(cell);
        assert.notEqual(usual.length, 0, "nothing was written");
        assert.deepEqual(await effectOf(withForged(cell)), usual);
      });
    }
  }

  test("a forged column that gets through is seen", async () => {
    const before = await rowsOf();
    await app.services.db.write.updateTable("users").set({ admin: true }).where("id", "=", world.somebody.id).execute();
    assert.deepEqual(changesOf(before, await rowsOf(), 0), ['changed users {"admin":true}']);
  });

  async function effectOf(cell: Cell): Promise<string[]> {
    const [belongings = {}] = await prepare(world, [cell], true);
    const before = await rowsOf();
    const { statusCode, payload } = await app.app.inject(requestOf(world, cell, belongings));
    assert.equal(statusCode, cell.expected, payload);
    return changesOf(before, await rowsOf(), world.somebody.id);
  }

  async function rowsOf(): Promise<Map<string, Row>> {
    const rows = new Map<string, Row>();
    for (const table of TABLES) {
      const found = await sql<{ row: Row }>`select to_jsonb(t) as row from ${sql.table(table)} t`.execute(
        app.services.db.write,
      );
      for (const { row } of found.rows) {
        const { id, project_id, user_id } = row;
        rows.set([table, ...(id === undefined ? [project_id, user_id] : [id])].join(" "), row);
      }
    }
    return rows;
  }

  /** The request with every column that it does not take, ids being those of somebody else. */
  function withForged(cell: Cell): Cell {
    const { endpoint } = cell.operation;
    const taken = new Set([...Object.keys(endpoint.params.properties), ...pathNames(endpoint.path), "name", "path"]);
    const params = new URLSearchParams(cell.line.send);
    for (const { name, type } of columns) {
      if (taken.has(name)) continue;
      if (type === "ARRAY") params.append(`${name}[]`, String(world.somebody.id));
      else params.set(name, valueOf(type, world.somebody.id));
    }
    return { ...cell, line: { ...cell.line, send: params.toString().replaceAll("%7B", "{").replaceAll("%7D", "}") } };
  }
});

const isInOrder = ({ form, expected, verb, operation, state, line }: Cell) =>
  form === "plain" &&
  verb === operation.endpoint.method &&
  state === (line.place?.state ?? "live") &&
  Number(expected) < 300;

function valueOf(type: string, id: number): string {
  if (type === "boolean") return "true";
  if (/int/.test(type)) return String(id);
  if (/timestamp/.test(type)) return "2001-01-01T00:00:00Z";
  if (type === "date") return "2099-01-01";
  return "forged";
}

/** What was done to which table, but for what is never the same; of ids only whether they are the forged one. */
function changesOf(before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>, forgedId: number): string[] {
  const shown = (row: Row, old: Row = {}) =>
    Object.entries(row)
      .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]) && !NOTED.includes(name))
      .map(([name, value]) => {
        if (UNLIKE.has(name)) return [name, "…"];
        return [name, /(^|_)id$/.test(name) && value !== null ? (value === forgedId ? "forged" : "…") : value];
      });
  const tell = (word: string, key: string, entries: unknown[][]) =>
    `${word} ${key.split(" ", 1)[0]} ${JSON.stringify(Object.fromEntries(entries as [string, unknown][]))}`;
  const changed = [...after].flatMap(([key, row]) => {
    const old = before.get(key);
    const entries = shown(row, old);
    return entries.length === 0 ? [] : [tell(old ? "changed" : "new", key, entries)];
  });
  const gone = [...before.keys()].filter((key) => !after.has(key)).map((key) => tell("gone", key, []));
  return [...changed, ...gone].toSorted();
}
