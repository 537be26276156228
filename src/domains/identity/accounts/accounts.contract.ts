import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Contract, FixtureContext } from "#test/contract.ts";
import { line, READ, WRITE } from "#test/matrix/line.ts";

const PASSWORD = "correct-horse";
const NEW_PASSWORD = `password=${PASSWORD}&password_again=${PASSWORD}`;

/** Mails a link to a new user. */
async function mail({ db, makeUser }: FixtureContext, purpose: "confirm" | "reset" | "invite") {
  const token = randomBytes(32).toString("base64url");
  const { id, email } = await makeUser(purpose === "confirm" ? { confirmed_at: null } : {});
  await sql`
    insert into mailed_links (digest, purpose, user_id, email, expires_at)
    values (sha256(${token}::bytea), ${purpose}, ${id}, ${email}, now() + interval '1 hour')`.execute(db);
  return { id, token };
}

export const contract: Contract = {
  lines: {
    "GET /-/account/confirm": line(200, 200, 200, READ, { send: "token={confirm}" }),
    "POST /-/account/confirm": line(200, 200, 200, WRITE, { send: "token={confirm}" }),
    "GET /-/account/password": [
      line(200, 200, 200, READ, { send: "token={reset}" }),
      line(200, 200, 200, READ, { send: "token={invite}" }),
    ],
    "POST /-/account/password": [
      line(200, 200, 200, WRITE, { send: `token={reset}&${NEW_PASSWORD}` }),
      line(200, 200, 200, WRITE, { send: `token={invite}&${NEW_PASSWORD}` }),
    ],
    "GET /-/account/forgotten": line(200, 200, 200, READ),
    "POST /-/account/forgotten": line(200, 200, 200, WRITE, { send: "email=*@example.com" }),
  },
  tables: ["mailed_links"],
  differing: ["digest", "email", "password_digest"],
  requests: {
    "POST /-/account/confirm": async (context) => {
      const { id, token } = await mail(context, "confirm");
      return { payload: { token }, entity: ["User", id] };
    },
    "POST /-/account/password": async (context) => {
      const { id, token } = await mail(context, "reset");
      return { payload: { token, password: PASSWORD, password_again: PASSWORD }, entity: ["User", id] };
    },
    "POST /-/account/forgotten": () =>
      Promise.resolve({ payload: { email: "nobody@example.com" }, entity: ["Instance", null], hasNoTarget: true }),
  },
  unrepeatable: { "POST /-/account/forgotten": "a job writes what there is to write" },
  values: {
    confirm: async (context) => (await mail(context, "confirm")).token,
    reset: async (context) => (await mail(context, "reset")).token,
    invite: async (context) => (await mail(context, "invite")).token,
  },
};
