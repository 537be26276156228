import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { fairlead, start, withDirectory } from "#test/support/command.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("seed", () => {
  test("fills an empty installation that then has nothing wrong, and refuses a second time", () =>
    withDirectory(async (directory) => {
      const env = {
        FAIRLEAD_DATABASE_URL: await freshDatabase(),
        FAIRLEAD_DATA_DIR: join(directory, "data"),
        FAIRLEAD_STORAGES: `fast=${directory}/fast,default=${directory}/default`,
        FAIRLEAD_PORT: "0",
      };
      const size = ["--users", "200", "--projects", "3000", "--tokens", "300"];
      const first = await fairlead(["seed", ...size], env);
      assert.equal(first.code, 0, first.stderr);
      assert.match(first.stdout, /^Made 200 users, 3000 projects and 300 tokens in \d+ s\.$/m);
      const [, token = ""] = /^Token \(shown only now\): (\S+)$/m.exec(first.stdout) ?? [];
      const doctor = await fairlead(["doctor"], env);
      assert.equal(doctor.code, 0, doctor.stdout);
      const second = await fairlead(["seed", ...size, "--into-existing"], env);
      assert.deepEqual([second.code, second.stdout], [1, ""]);
      assert.match(second.stderr, /^fairlead: This database was seeded before.*\n$/);

      const server = start(["serve"], env);
      const [, address = ""] = await server.says(/"msg":"Fairlead is at (http:[^"]+)"/);
      const signedIn = (secret: string) => fetch(`${address}/api/v4/user`, { headers: { "private-token": secret } });
      assert.equal((await signedIn(token)).status, 200);
      assert.equal((await signedIn("seed 1 1")).status, 401, "made-up tokens cannot be guessed");
      const headers = { "private-token": token };
      const projects = await fetch(`${address}/api/v4/projects?repository_storage=fast`, { headers });
      const [project] = (await projects.json()) as { id: number }[];
      const branches = await fetch(`${address}/api/v4/projects/${project?.id}/repository/branches`, { headers });
      assert.equal(branches.status, 200, "a project that would be on a storage of its own");
      await server.stop();
    }));

  describe("on a database that people use", () => {
    let app: TestApp;
    let env: Record<string, string>;
    before(async () => {
      const url = await freshDatabase();
      app = await testApp({ databaseUrl: url });
      env = { FAIRLEAD_DATABASE_URL: url, FAIRLEAD_DATA_DIR: app.services.config.dataDir };
      await fairlead(["setup"], env);
      const { token } = await app.makeUser();
      await app.post("/projects", { token, payload: { name: "Flagship" } });
    });
    after(() => app.close());

    const users = async () => (await sql`select from users`.execute(app.services.db.write)).rows.length;

    test("it refuses, unless it is told otherwise", async () => {
      const refused = await fairlead(["seed", "--users", "20", "--projects", "20"], env);
      assert.deepEqual([refused.code, refused.stdout], [1, ""]);
      assert.match(refused.stderr, /^fairlead: This database has 1 user and 1 project of its own\. .*--into-existing/);
      assert.equal(await users(), 2);
      const mixed = await fairlead(["seed", "--users", "20", "--projects", "20", "--into-existing"], env);
      assert.equal(mixed.code, 0, mixed.stderr);
      assert.ok((await users()) > 20);
    });
  });

  test("it wants counts, and makes users and tokens, the same for the same count", async () => {
    const databaseUrl = await freshDatabase();
    const app = await testApp({ databaseUrl });
    try {
      const env = { FAIRLEAD_DATABASE_URL: databaseUrl, FAIRLEAD_DATA_DIR: app.services.config.dataDir };
      const wrong = await fairlead(["seed", "--users", "some"], env);
      assert.equal(wrong.code, 1);
      assert.match(wrong.stderr, /usage: fairlead seed/);
      assert.equal((await fairlead(["seed", "--users", "200", "--tokens", "600"], env)).code, 0);
      const { token } = await app.makeUser({ admin: true });
      const tokens = await app.get("/personal_access_tokens?state=inactive", { token });
      assert.ok(Number(tokens.headers["x-total"]) > 300);
      const [account] = (await app.get("/service_accounts?sort=asc", { token })).body as { id: number }[];
      const most = await app.get(`/personal_access_tokens?user_id=${account?.id}`, { token });
      assert.ok(Number(most.headers["x-total"]) >= 50);
      const { headers } = await app.get("/users?per_page=100");
      assert.ok(Number(headers["x-total"]) > 150);
    } finally {
      await app.close();
    }
  });
});
