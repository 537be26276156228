import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { pino } from "pino";
import type { Refusal } from "#lib/refusal.ts";
import { constraints } from "#domains/index.ts";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { testDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { openDatabase, type Databases } from "./database.ts";
import { refusalOf } from "./errors.ts";

const log = pino({ level: "silent" });

/** What the caller of a failed piece of work is told. */
async function refusalFrom(work: Promise<unknown>): Promise<Refusal> {
  const error = await work.then(
    () => assert.fail("nothing was refused"),
    (reason: unknown) => reason,
  );
  const refusal = refusalOf(error, constraints);
  assert.ok(refusal, `no refusal for ${String(error)}`);
  return refusal;
}

describe("errors of the database", () => {
  let url: string;
  let db: Databases;
  before(async () => {
    url = await testDatabase();
    db = openDatabase({ url, log, ...PATIENT_DATABASE, poolSize: 2 });
  });
  after(() => db.close());

  let number = 0;
  async function addUser(username: string, email: string, publicEmail: string | null = null) {
    const path = `path-${Date.now()}-${number++}`;
    return db.transaction(async (tx) => {
      const namespace = await tx
        .insertInto("namespaces")
        .values({ path, name: path })
        .returning("id")
        .executeTakeFirstOrThrow();
      return tx
        .insertInto("users")
        .values({ username, name: username, email, public_email: publicEmail, namespace_id: namespace.id })
        .returning("id")
        .executeTakeFirstOrThrow();
    });
  }

  it("reports which name or address is taken", async () => {
    const name = `taken-${Date.now()}`;
    const email = `${name}@example.com`;
    const { id } = await addUser(name, email, email);

    const username = await refusalFrom(addUser(name.toUpperCase(), `other-${email}`));
    assert.deepEqual([username.kind, username.message], ["conflict", "Username has already been taken"]);
    const primary = await refusalFrom(addUser(`${name}-2`, email.toUpperCase()));
    assert.deepEqual([primary.kind, primary.message], ["conflict", "Email has already been taken"]);
    const shown = await refusalFrom(addUser(`${name}-3`, `third-${email}`, email));
    assert.deepEqual(shown.details.fields, { public_email: ["has already been taken"] });

    const identity = { user_id: id, provider: "ldap", extern_uid: name };
    await db.write.insertInto("identities").values(identity).execute();
    const again = await refusalFrom(db.write.insertInto("identities").values(identity).execute());
    assert.deepEqual(again.details.fields, { "identities.extern_uid": ["has already been taken"] });
  });

  it("reports a missing user when a row refers to one", async () => {
    const refusal = await refusalFrom(db.write.insertInto("emails").values({ user_id: 0, email: "a@b.c" }).execute());
    assert.deepEqual([refusal.kind, refusal.message], ["missing", "404 User Not Found"]);
  });

  it("translates no error that only a bug can cause", async () => {
    const works = [() => addUser("", "empty@example.com"), () => sql`select * from nowhere`.execute(db.read)];
    for (const work of works) {
      const error = await work().catch((reason: unknown) => reason);
      assert.ok(error instanceof Error);
      assert.equal(refusalOf(error, constraints), undefined);
    }
    assert.equal(refusalOf(new TypeError("x is not a function")), undefined);
  });

  it("ends a statement that takes too long", async () => {
    const hasty = openDatabase({
      url,
      log,
      ...PATIENT_DATABASE,
      poolSize: 1,
      statementTimeout: 100,
      pointTimeout: 100,
    });
    assert.equal((await refusalFrom(sql`select pg_sleep(60)`.execute(hasty.read))).kind, "unavailable");
    assert.equal((await refusalFrom(hasty.point.query("select pg_sleep(60)", []))).kind, "unavailable");
    await hasty.close();
  });

  it("stops waiting for a row that another transaction has locked", async () => {
    const patient = openDatabase({ url, log, ...PATIENT_DATABASE, lockTimeout: 1_500 });
    const { id } = await addUser(`locked-${Date.now()}`, `locked-${Date.now()}@example.com`);
    const rename = (name: string) => patient.write.updateTable("users").set({ name }).where("id", "=", id).execute();
    const refusal = await patient.transaction(async (tx) => {
      await tx.selectFrom("users").select("id").where("id", "=", id).forUpdate().execute();
      return refusalFrom(rename("late"));
    });
    assert.deepEqual([refusal.kind, refusal.message], ["conflict", "409 Conflict: Resource lock"]);
    await patient.close();
  });

  it("refuses when every connection stays in use", async () => {
    const narrow = openDatabase({ url, log, poolSize: 1 });
    await until("it is connected", () => sql`select 1`.execute(narrow.read).catch(() => false));
    const refusal = await narrow.transaction(() => refusalFrom(sql`select 1`.execute(narrow.read)));
    assert.equal(refusal.kind, "unavailable");
    assert.equal(refusal.details.retryAfter, 1);
    await narrow.close();
  });

  it("refuses when nothing listens", async () => {
    const nowhere = openDatabase({ url: "postgres://nobody@127.0.0.1:1/nothing", log });
    assert.equal((await refusalFrom(sql`select 1`.execute(nowhere.read))).kind, "unavailable");
    assert.equal((await refusalFrom(nowhere.point.query("select 1", []))).kind, "unavailable");
    await nowhere.close();
  });

  it("survives connections that break while idle and while in use", async () => {
    const victim = openDatabase({ url, log, ...PATIENT_DATABASE, poolSize: 1 });
    const pid = async () =>
      (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(victim.read)).rows[0]?.pid ?? 0;
    const end = (process: number) => sql`select pg_terminate_backend(${process})`.execute(db.write);

    const idle = await pid();
    await end(idle);
    await until("the pool has noticed", async () => victim.poolUsage().open === 0);
    assert.notEqual(await pid(), idle);

    const refusal = await refusalFrom(
      victim.transaction(async (tx) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
        await end(rows[0]?.pid ?? 0);
        await sql`select 1`.execute(tx);
      }),
    );
    assert.equal(refusal.kind, "unavailable");
    assert.ok((await pid()) > 0);
    await victim.close();
  });
});
