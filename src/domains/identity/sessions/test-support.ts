import assert from "node:assert/strict";
import { type Insertable, sql } from "kysely";
import type { Database } from "#db/types.ts";
import { networkOf } from "#lib/networks.ts";
import type { Call, Reply, TestApp, TestUser } from "#test/support/app.ts";

export const PASSWORD = "Nine-Knots-And-A-Splice";
export const OTHER_PASSWORD = "Two-Anchors-For-The-Night";

export interface Person extends TestUser {
  readonly password: string;
}

/** A user with a password. */
export async function makePerson(
  app: TestApp,
  columns: Partial<Insertable<Database["users"]>> = {},
  password = PASSWORD,
): Promise<Person> {
  const user = await app.makeUser({ password_digest: await app.services.passwords.hash(password), ...columns });
  return { ...user, password };
}

/** The headers by which a page of this site sends a session with each request. */
export interface Browser {
  readonly headers: Record<string, string>;
  readonly secret: string;
}

/** A browser after a response: with the cookie that was set, and a page that knows the CSRF token. */
export function browserOf({ headers }: Reply): Browser {
  const cookie = [headers["set-cookie"]].flat().join().split(";", 1)[0] ?? "";
  const [, secret = ""] = /^[\w-]+=([\w-]{43})$/.exec(cookie) ?? [];
  assert.notEqual(secret, "", `no session in ${String(headers["set-cookie"])}`);
  return {
    headers: { cookie, "sec-fetch-site": "same-origin", "x-csrf-token": headers["x-csrf-token"] ?? "" },
    secret,
  };
}

export const tryToSignIn = (
  app: TestApp,
  login: string,
  password: string,
  { more = {}, ...call }: Call & { readonly more?: object } = {},
): Promise<Reply> => app.post("/session", { ...call, payload: { login, password, ...more } });

/** Signs a user in, with a code if they have a second factor. */
export async function signIn(app: TestApp, person: Person, otp_attempt?: string): Promise<Browser> {
  const reply = await tryToSignIn(app, person.username, person.password, {
    more: { ...(otp_attempt && { otp_attempt }) },
  });
  assert.equal(reply.status, 201, reply.text);
  return browserOf(reply);
}

/** The kinds of the queued mails to a user, oldest first. */
export async function mailsTo(app: TestApp, userId: number): Promise<string[]> {
  const { rows } = await sql<{ kind: string }>`
    select data->'payload'->>'kind' as kind from jobs.job
    where name = 'mail' and (data->'payload'->>'userId')::bigint = ${userId}
    order by created_on, id`.execute(app.services.db.write);
  return rows.map(({ kind }) => kind);
}

/** The events of a user's audit log, oldest first. */
export async function eventsOf(app: TestApp, userId: number): Promise<string[]> {
  const rows = await app.services.db.write
    .selectFrom("audit_events")
    .select("event")
    .where("entity_type", "=", "User")
    .where("entity_id", "=", userId)
    .orderBy("id")
    .execute();
  return rows.map(({ event }) => event);
}

/** Locks an account as ten wrong passwords from the address of tests would. */
export async function lock(app: TestApp, userId: number) {
  const locked_until = new Date(Date.now() + 600_000).toISOString();
  const { write } = app.services.db;
  const source = networkOf("127.0.0.1");
  await write.insertInto("sign_in_attempts").values({ user_id: userId, source, failed: 10, locked_until }).execute();
  await write.updateTable("users").set({ failed_attempts: 10, locked_until }).where("id", "=", userId).execute();
}

export const userRow = (app: TestApp, id: number) =>
  app.services.db.write.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
