import { sql } from "kysely";
import type { Contract, FixtureContext } from "#test/contract.ts";
import { line, READ, WRITE } from "#test/matrix/line.ts";
import type { TestUser } from "#test/support/app.ts";
import { setPassword } from "#test/support/passwords.ts";
import { appCode } from "#test/support/totp.ts";

const PASSWORD = "Three-Lights-On-The-Pier";

/** Gives a user a password and removes the second factor. */
async function reset({ db }: FixtureContext, { id }: TestUser) {
  await setPassword(db, id, PASSWORD);
  await sql`delete from recovery_codes where user_id = ${id}`.execute(db);
  await sql`delete from second_factors where user_id = ${id}`.execute(db);
  await sql`update users set two_factor_enabled = false where id = ${id}`.execute(db);
}

/** Begins a second factor; returns the code that confirms it. */
async function begin(context: FixtureContext, user: TestUser): Promise<string> {
  await reset(context, user);
  const payload = { current_password: PASSWORD };
  const { body } = await context.call("POST", "/user/two_factor", { token: user.token, payload });
  return appCode(body.secret);
}

/** Enables a second factor; returns one of its recovery codes. */
async function confirm(context: FixtureContext, user: TestUser): Promise<string> {
  const payload = { code: await begin(context, user) };
  const { body } = await context.call("PUT", "/user/two_factor", { token: user.token, payload });
  return body.recovery_codes[0];
}

export const contract: Contract = {
  lines: {
    "GET /user/two_factor": line(401, 200, 200, READ, { robots: 403 }),
    "POST /user/two_factor": line(401, 400, 400, WRITE, { send: "current_password=*", robots: 403 }),
    "PUT /user/two_factor": line(401, 400, 400, WRITE, { send: "code=123456", robots: 403 }),
    "DELETE /user/two_factor": line(401, 400, 400, WRITE, { send: "code=123456", robots: 403 }),
    "POST /user/two_factor/recovery_codes": line(401, 400, 400, WRITE, { send: "code=123456", robots: 403 }),
    "PATCH /users/:id/disable_two_factor": line(401, 403, [403, 204, 404], WRITE, {
      object: "newcomer",
      newcomer: { two_factor_enabled: true },
    }),
  },
  tables: ["second_factors", "recovery_codes"],
  differing: ["sealed_secret", "last_step", "digest", "confirmed_at"],
  requests: {
    "POST /user/two_factor": async (context, user) => {
      await reset(context, user);
      return { payload: { current_password: PASSWORD } };
    },
    "PUT /user/two_factor": async (context, user) => ({ payload: { code: await begin(context, user) } }),
    "DELETE /user/two_factor": async (context, user) => ({ payload: { code: await confirm(context, user) } }),
    "POST /user/two_factor/recovery_codes": async (context, user) => ({
      payload: { code: await confirm(context, user) },
    }),
  },
};
