import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { insertAudit } from "#http/audit.ts";
import { endpoint } from "#http/endpoint.ts";
import { conflict } from "#lib/refusal.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const common = {
  method: "POST",
  access: signedIn(),
  params: Type.Object({ name: Type.String(), fail: Type.Optional(Type.String()) }),
  returns: Type.Object({ id: Type.Integer() }),
} as const;

let tries = 0;

const deeds = {
  do: endpoint({
    ...common,
    path: "/deeds",
    summary: "Write in the transaction of the kernel",
    audit: "deed_done",
    async handle({ tx, params: { name, fail }, audit }) {
      const { id } = await tx
        .insertInto("namespaces")
        .values({ path: name, name })
        .returning("id")
        .executeTakeFirstOrThrow();
      audit({ type: "Deed", id, name, details: { how: "well" } });
      if (fail === "refusal") throw conflict("Not this one");
      if (fail === "bug") throw new Error("a bug");
      if (fail === "database") await sql`select 1 / 0`.execute(tx);
      // The audit row cannot be written, so the write must be rolled back too.
      if (fail === "audit") audit({ type: "Deed", id: Number.NaN, name });
      return { id };
    },
  }),
  retried: endpoint({
    ...common,
    path: "/deeds/retried",
    summary: "Meet a serialization failure once",
    audit: "deed_retried",
    async handle({ tx, params: { name }, audit }) {
      if (++tries === 1) await sql`do $$ begin raise exception using errcode = '40001'; end $$`.execute(tx);
      const { id } = await tx
        .insertInto("namespaces")
        .values({ path: name, name })
        .returning("id")
        .executeTakeFirstOrThrow();
      audit({ type: "Deed", id, name });
      return { id };
    },
  }),
  own: endpoint({
    ...common,
    path: "/deeds/own",
    summary: "Write in a transaction of one's own",
    transaction: "own",
    audit: "deed_of_its_own",
    async handle({ databases, params: { name, fail }, auditEntry, setStatus }) {
      const id = await databases.transaction(async (tx) => {
        const made = tx.insertInto("namespaces").values({ path: name, name }).returning("id");
        const { id } = await made.executeTakeFirstOrThrow();
        await insertAudit(tx, auditEntry({ type: "Deed", id, name }));
        if (fail === "inside") throw conflict("Told before the commit");
        return id;
      });
      setStatus(202);
      if (fail) throw conflict("Told after the deed");
      return { id };
    },
  }),
  silent: endpoint({
    ...common,
    path: "/deeds/silent",
    summary: "Write without saying to what",
    audit: "deed_unsaid",
    handle: () => ({ id: 0 }),
  }),
};

describe("transactions", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp({ resources: { ...resources, deeds } });
    user = await app.makeUser();
  });
  after(() => app.close());

  const post = (path: string, payload: object) => app.post(path, { token: user.token, payload });
  const auditOf = (requestId: string | undefined) =>
    app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", requestId ?? "")
      .execute();
  const exists = async (path: string) =>
    (await app.services.db.read.selectFrom("namespaces").select("id").where("path", "=", path).execute()).length > 0;
  const newName = () => `deed-${randomUUID()}`;

  test("a write and its audit row commit together", async () => {
    const name = newName();
    const { status, body, headers } = await app.post("/deeds", {
      token: user.token,
      payload: { name },
      remoteAddress: "203.0.113.9",
    });
    assert.equal(status, 201);
    const [row, ...more] = await auditOf(headers["x-request-id"]);
    assert.deepEqual(more, []);
    const { id: _id, created_at, ...rest } = row ?? {};
    assert.ok(Math.abs(Date.parse(created_at ?? "") - Date.now()) < 60_000);
    assert.deepEqual(rest, {
      event: "deed_done",
      actor_id: user.id,
      actor_name: user.username,
      sudo_actor_id: null,
      target_type: "Deed",
      target_id: body.id,
      target_name: name,
      entity_type: "Instance",
      entity_id: null,
      details: { how: "well" },
      ip_address: "203.0.113.9",
      request_id: headers["x-request-id"],
    });
    assert.equal(await exists(name), true);
  });

  for (const [fail, status] of [
    ["refusal", 409],
    ["bug", 500],
    ["database", 500],
    ["audit", 500],
  ] as const) {
    test(`a write and its audit row are rolled back together: ${fail}`, async () => {
      const name = newName();
      const reply = await post("/deeds", { name, fail });
      assert.equal(reply.status, status);
      assert.equal(await exists(name), false);
      assert.deepEqual(await auditOf(reply.headers["x-request-id"]), []);
    });
  }

  test("after a serialization failure the whole write runs again, and is audited once", async () => {
    const name = newName();
    const { status, headers } = await post("/deeds/retried", { name });
    assert.equal(status, 201);
    assert.equal(tries, 2);
    assert.equal((await auditOf(headers["x-request-id"])).length, 1);
  });

  test("a write without a target is audited too", async () => {
    const { headers } = await post("/deeds/silent", { name: "x" });
    const [row] = await auditOf(headers["x-request-id"]);
    assert.equal(row?.event, "deed_unsaid");
    assert.equal(row?.target_id, null);
  });

  test("a write with its own transaction stays committed even if the request fails afterwards", async () => {
    const name = newName();
    const told = await post("/deeds/own", { name, fail: "later" });
    assert.equal(told.status, 409);
    assert.equal(await exists(name), true);
    const [row] = await auditOf(told.headers["x-request-id"]);
    assert.deepEqual([row?.event, row?.target_name], ["deed_of_its_own", name], "what was done is recorded");
    const well = await post("/deeds/own", { name: newName() });
    assert.equal(well.status, 202);
    assert.equal((await auditOf(well.headers["x-request-id"])).length, 1);
    const undone = await post("/deeds/own", { name: newName(), fail: "inside" });
    assert.deepEqual([undone.status, await auditOf(undone.headers["x-request-id"])], [409, []]);
  });

  test("audit rows can be neither changed nor deleted", async () => {
    const { headers } = await post("/deeds", { name: newName() });
    const id = headers["x-request-id"] ?? "";
    const { write } = app.services.db;
    await assert.rejects(write.updateTable("audit_events").set({ event: "x" }).where("request_id", "=", id).execute());
    await assert.rejects(write.deleteFrom("audit_events").where("request_id", "=", id).execute());
  });
});
