import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import pg from "pg";
import { until } from "#test/support/until.ts";
import { startServer } from "./server.ts";

const settings = { fsync: "off" };

async function ask(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

const postmaster = async (dataDir: string) =>
  Number((await readFile(join(dataDir, "postmaster.pid"), "utf8")).split("\n")[0]);

describe("the trial server", () => {
  const base = join(tmpdir(), `fairlead-engine-${randomUUID()}`);
  const dataDir = join(base, "data");
  after(() => rm(base, { recursive: true }));

  test("is created at the first start and keeps its data over a restart", async () => {
    const first = await startServer({ dataDir, settings });
    assert.equal(await ask(first.url, "select current_setting('listen_addresses')"), "");
    await ask(first.url, "create extension pg_trgm");
    await ask(first.url, "create table kept as select 'ŻÓŁW' as word");
    await first.stop();

    const second = await startServer({ dataDir, settings });
    assert.equal(await ask(second.url, "select lower(word) from kept"), "żółw");
    assert.equal(await ask(second.url, "select show_trgm(word) <> '{}' from kept"), true);
    await second.stop();
    assert.ok(!existsSync(join(dataDir, "postmaster.pid")));
  });

  test("is shared with a second start, which does not stop it", async () => {
    const owner = await startServer({ dataDir, settings });
    const guest = await startServer({ dataDir, settings });
    assert.equal(guest.url, owner.url);
    await guest.stop();
    assert.equal(await ask(owner.url, "select 1"), 1);
    await owner.stop();
    await assert.rejects(ask(owner.url, "select 1"), { code: "ENOENT" });
  });

  test("stops when the process that started it is killed", async () => {
    const script = `
      const { startServer } = await import(${JSON.stringify(join(import.meta.dirname, "server.ts"))});
      const { url } = await startServer(${JSON.stringify({ dataDir, settings })});
      console.log(url);
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [url] = (await once(owner.stdout, "data")) as [Buffer];
    assert.equal(await ask(url.toString().trim(), "select 1"), 1);
    const engine = await postmaster(dataDir);
    owner.kill("SIGKILL");
    await until(`engine ${engine} has stopped`, async () => !existsSync(join(dataDir, "postmaster.pid")));
  });

  test("starts although a crash left a pid that now belongs to another process", async () => {
    await writeFile(join(dataDir, "postmaster.pid"), `${process.pid}\n${dataDir}\n1\n5432\n${dataDir}\n\n`);
    const server = await startServer({ dataDir, settings });
    assert.notEqual(await postmaster(dataDir), process.pid);
    await server.stop();
  });

  test("reports which version a directory needs", async () => {
    const old = join(base, "old");
    await mkdir(old);
    await writeFile(join(old, "PG_VERSION"), "9\n");
    await assert.rejects(startServer({ dataDir: old }), /old was created by PostgreSQL 9 \(found: \d+ in /);
  });

  test("reports PostgreSQL's own error when it does not start", async () => {
    await assert.rejects(
      startServer({ dataDir, settings: { shared_buffers: "little" } }),
      /invalid value for parameter "shared_buffers"/,
    );
  });

  test("accepts a directory whose path is too long for a socket", async () => {
    const far = join(base, "d".repeat(120));
    const server = await startServer({ dataDir: far, settings });
    assert.equal(await ask(server.url, "select 1"), 1);
    await server.stop();
    assert.ok(!existsSync(decodeURIComponent(new URL(server.url).hostname)));
  });
});
