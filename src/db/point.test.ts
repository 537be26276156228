import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import { pino } from "pino";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { openDatabase, type Databases } from "./database.ts";
import { refusalOf } from "./errors.ts";

const log = pino({ level: "silent" });

describe("point reads", () => {
  let url: string;
  let db: Databases;
  before(async () => {
    url = await freshDatabase();
    db = openDatabase({ url, log, ...PATIENT_DATABASE });
  });
  after(() => db.close());

  const pid = async () => (await db.point.query<{ pid: number }>("select pg_backend_pid() as pid", []))[0]?.pid ?? 0;
  const pids = async () => new Set(await Promise.all([pid(), pid(), pid(), pid()]));
  const end = (process: number) => sql`select pg_terminate_backend(${process})`.execute(db.write);

  it("share two connections that pipeline statements", async () => {
    assert.equal((await pids()).size, 2);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        db.point.query("select $1::integer as n, pg_sleep(0.001) is null as slept", [n]),
      ),
    );
    assert.deepEqual(
      answers,
      Array.from({ length: 50 }, (_, n) => [{ n, slept: false }]),
    );
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
    const now = await until("there are two again", async () => {
      const found = await pids();
      return found.size === 2 && found;
    });
    assert.ok(now.has(second) && !now.has(first), [...now].join());
  });

  /** A socket that leads to the database while it is open. */
  async function relayed() {
    const { hostname, port, pathname, username } = new URL(url);
    const socket = join(decodeURIComponent(hostname), `.s.PGSQL.${port}`);
    const directory = await mkdtemp(join(tmpdir(), "fairlead-relay-"));
    const callers = new Set<Socket>();
    const relay = createServer((caller) => {
      callers.add(caller);
      caller
        .on("error", () => {})
        .pipe(connect(socket).on("error", () => {}))
        .pipe(caller);
    });
    return {
      url: `postgres://${username}@${encodeURIComponent(directory)}:${port}${pathname}`,
      open: () => once(relay.listen(join(directory, `.s.PGSQL.${port}`)), "listening"),
      async shut() {
        const closed = new Promise((resolve) => relay.close(resolve));
        for (const caller of callers) caller.destroy();
        await closed;
      },
      remove: () => rm(directory, { recursive: true }),
    };
  }
  const isRefused = async (asked: Promise<unknown>) =>
    refusalOf(await asked.catch((error: unknown) => error))?.kind === "unavailable";

  it("are refused at once while both connections are broken, and work again soon", async () => {
    const relay = await relayed();
    await relay.open();
    const broken = openDatabase({ url: relay.url, log, ...PATIENT_DATABASE });
    const ask = () => broken.point.query("select 1 as one", []);
    assert.deepEqual(await ask(), [{ one: 1 }]);
    await relay.shut();
    await until("both are broken", () => isRefused(ask()));
    const inTime = await Promise.race([isRefused(ask()), turn(false)]);
    assert.ok(inTime, "it does not wait for a connection");
    await relay.open();
    await until("it works again", async () => !(await isRefused(ask())));
    await broken.close();
    await relay.shut();
    await relay.remove();
  });

  it("start to work when the database starts later than the process", async () => {
    const relay = await relayed();
    const late = openDatabase({ url: relay.url, log, ...PATIENT_DATABASE });
    const ask = () => late.point.query("select 1 as one", []);
    assert.ok(await isRefused(ask()));
    await relay.open();
    await until("it works", async () => !(await isRefused(ask())));
    assert.deepEqual(await ask(), [{ one: 1 }]);
    await late.close();
    await relay.shut();
    await relay.remove();
  });
});
