import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "pg";
import { migrate } from "#db/migrate.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../../migrations");
const isOfFeatures = (name: string) => name.includes("_project_features");

/** The columns as the release before knows them: keys of `preferences`. */
describe("features of projects, while the previous release runs", () => {
  let directory: string;
  let client: Client;
  let url: string;
  let files: string[];
  let namespaceId: number;
  before(async () => {
    url = await freshDatabase();
    client = new Client({ connectionString: url });
    await client.connect();
    await client.query("drop schema public cascade; create schema public; drop schema jobs cascade");
    directory = await mkdtemp(join(tmpdir(), "fairlead-migrations-"));
    files = (await readdir(MIGRATIONS)).toSorted();
    await migrateTo(files.findIndex(isOfFeatures));
  });
  after(async () => {
    await client.end();
    await rm(directory, { recursive: true });
  });

  /** Applies the first so many files. */
  async function migrateTo(count: number) {
    for (const name of files.slice(0, count)) await cp(join(MIGRATIONS, name), join(directory, name));
    await migrate(url, { directory });
  }

  let made = 0;
  async function insert(columns: Record<string, unknown>): Promise<number> {
    const values = { namespace_id: namespaceId, path: `p${++made}`, name: "p", ...columns };
    const names = Object.keys(values);
    const { rows } = await client.query<{ id: number }>(
      `insert into projects (${names.join(", ")}) values (${names.map((_, at) => `$${at + 1}`).join(", ")}) returning id`,
      Object.values(values),
    );
    return Number(rows[0]?.id);
  }

  async function look(id: number) {
    const { rows } = await client.query(
      `select preferences, issues_access_level as issues, wiki_access_level as wiki,
         security_and_compliance_access_level as security from projects where id = $1`,
      [id],
    );
    return rows[0];
  }

  test("levels that were set are copied, and the others have their default", async () => {
    const { rows } = await client.query<{ id: number }>(
      "insert into namespaces (kind, path, name) values ('group', 'g', 'g') returning id",
    );
    namespaceId = Number(rows[0]?.id);
    const chosen = await insert({ preferences: { issues_access_level: "disabled", merge_method: "ff" } });
    const plain = await insert({});
    await migrateTo(files.findLastIndex(isOfFeatures) + 1);
    assert.deepEqual(await look(chosen), {
      preferences: { issues_access_level: "disabled", merge_method: "ff" },
      ...{ issues: "disabled", wiki: "enabled", security: "private" },
    });
    assert.deepEqual(await look(plain), { preferences: {}, issues: "enabled", wiki: "enabled", security: "private" });
  });

  test("writes of the previous release appear in the columns", async () => {
    const id = await insert({ preferences: { security_and_compliance_access_level: "enabled" } });
    assert.equal((await look(id)).security, "enabled");
    const preferences = { issues_access_level: "private", lfs_enabled: false };
    await client.query("update projects set preferences = $1 where id = $2", [preferences, id]);
    assert.deepEqual(await look(id), { preferences, issues: "private", wiki: "enabled", security: "private" });
  });

  test("writes of this release appear in the preferences", async () => {
    const id = await insert({ wiki_access_level: "disabled", preferences: { lfs_enabled: false } });
    assert.deepEqual((await look(id)).preferences, { lfs_enabled: false, wiki_access_level: "disabled" });
    await client.query("update projects set wiki_access_level = 'enabled' where id = $1", [id]);
    assert.deepEqual((await look(id)).preferences, { lfs_enabled: false, wiki_access_level: "enabled" });
    assert.equal((await look(id)).wiki, "enabled");
  });
});
