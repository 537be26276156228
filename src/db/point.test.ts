import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { pino } from "pino";
import { freshDatabase } from "#test/support/postgres.ts";
import { openDatabase, type Databases } from "./database.ts";
import { refusalOf } from "./errors.ts";

const log = pino({ level: "silent" });

describe("point reads", () => {
  let url: string;
  let db: Databases;
  before(async () => {
    url = await freshDatabase();
    db = openDatabase({ url, log });
  });
  after(() => db.close());

  const pid = async () => (await db.point.query<{ pid: number }>("select pg_backend_pid() as pid", []))[0]?.pid ?? 0;
  const pids = async () => new Set(await Promise.all([pid(), pid(), pid(), pid()]));
  const end = (process: number) => sql`select pg_terminate_backend(${process})`.execute(db.write);

  it("share two connections that pipeline statements", async () => {
    assert.equal((await pids()).size, 2);
    const began = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        db.point.query("select $1::integer as n, pg_sleep(0.001) is null as slept", [n]),
      ),
    );
    assert.deepEqual(
      answers,
      Array.from({ length: 50 }, (_, n) => [{ n, slept: false }]),
    );
    assert.ok(performance.now() - began < 1_000);
  });

  it("are planned once a connection, even for a list of one key", async () => {
    const text = "select id from users where id = any($1::bigint[])";
    for (let id = 0; id < 20; id++) await db.point.query(text, [[id]]);
    const held = await db.point.query(
      "select generic_plans, custom_plans from pg_prepared_statements where statement = $1",
      [text],
    );
    assert.deepEqual(held, [{ generic_plans: 10, custom_plans: 0 }]);
  });

  it("fail alone when their statement fails", async () => {
    const answers = await Promise.allSettled(
      [1, 0, 2, 0, 4].map((n) => db.point.query("select 4 / $1::integer as quarter", [n])),
    );
    assert.deepEqual(
      answers.map(({ status }) => status === "fulfilled"),
      [true, false, true, false, true],
    );
  });

  it("use the other connection while one is broken, and both again soon", async () => {
    const [first = 0, second = 0] = await pids();
    const asked = Array.from({ length: 20 }, () => db.point.query("select pg_sleep(0.005) is null as slept", []));
    await end(first);
    await Promise.all(asked);
    await sleep(300);
    const now = await pids();
    assert.ok(now.size === 2 && now.has(second) && !now.has(first), [...now].join());
  });

  it("are refused at once while both connections are broken, and work again soon", async () => {
    for (const process of await pids()) await end(process);
    await sleep(20);
    const began = performance.now();
    assert.equal(refusalOf(await pid().catch((error: unknown) => error))?.kind, "unavailable");
    assert.ok(performance.now() - began < 20);
    await sleep(300);
    assert.equal((await pids()).size, 2);
  });

  it("start to work when the database starts later than the process", async () => {
    const { hostname, port, pathname, username } = new URL(url);
    const socket = join(decodeURIComponent(hostname), `.s.PGSQL.${port}`);
    const relay = createServer((caller) => caller.pipe(connect(socket)).pipe(caller));
    await once(relay.listen(0, "127.0.0.1"), "listening");
    const { port: relayPort } = relay.address() as AddressInfo;
    await new Promise((closed) => relay.close(closed));

    const late = openDatabase({ url: `postgres://${username}@127.0.0.1:${relayPort}${pathname}`, log });
    const ask = () => late.point.query("select 1 as one", []);
    assert.equal(refusalOf(await ask().catch((error: unknown) => error))?.kind, "unavailable");
    await sleep(200);
    await once(relay.listen(relayPort, "127.0.0.1"), "listening");
    await sleep(500);
    assert.deepEqual(await ask(), [{ one: 1 }]);
    await late.close();
    relay.close();
  });
});
