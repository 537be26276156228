import { randomBytes } from "node:crypto";
import fc, { type Arbitrary } from "fast-check";
import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import { csrfTokenOf, newSessionSecret } from "#access/sessions.ts";
import type { Endpoint } from "#http/endpoint.ts";
import { newTotpSecret, STEP_SECONDS, totpCode } from "#lib/totp.ts";
import { sealingContext } from "#domains/identity/credentials/codes.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { passwordDigest } from "#test/support/passwords.ts";
import { PASSWORD_CANARY } from "./marks.ts";
import { type Kinds, LINKS } from "./secrets.ts";

const PASSWORD = `${PASSWORD_CANARY}-known`;

export type Headers = readonly (readonly [name: string, value: string])[];

/** The credentials of callers: passwords, sessions, mailed links, and second factors, one enabled and one unconfirmed. */
export interface Accounts {
  /** The headers of a session as our own pages send them. */
  readonly session: Headers;
  /** Headers that lack a part of a session's proof, by who would send them; such a request is anonymous. */
  readonly unproved: Readonly<Record<string, Headers>>;
  readonly secrets: Kinds;
  /** Values for endpoints that require proof, such as a password or a code. */
  proofFor(endpoint: Endpoint): Arbitrary<Record<string, unknown>> | undefined;
}

interface Owners {
  /** Has an enabled second factor. */
  readonly guarded: TestUser;
  /** Has an unconfirmed one. */
  readonly beginner: TestUser;
  /** Is signed in, and can sign in again. */
  readonly signedIn: TestUser;
  /** Has an expired password. */
  readonly late: TestUser;
}

export async function makeAccounts({ services }: TestApp, owners: Owners): Promise<Accounts> {
  const { guarded, beginner, signedIn, late } = owners;
  const { sealing, db } = services;
  const factor = newTotpSecret();
  const [session, ended] = [newSessionSecret(), newSessionSecret()];
  const links = { confirm: newSessionSecret(), reset: newSessionSecret(), invite: newSessionSecret() };
  const recovery = Array.from({ length: 10 }, () => randomBytes(8).toString("hex"));

  await sql`update users set password_digest = ${passwordDigest(PASSWORD)}, two_factor_enabled = id = ${guarded.id},
      password_expired = id = ${late.id}
    where id = any(${Object.values(owners).map(({ id }) => id)}::bigint[])`.execute(db.write);
  for (const { id } of [guarded, beginner]) {
    await sql`insert into second_factors (user_id, sealed_secret, confirmed_at)
      values (${id}, ${await sealing.seal(factor, sealingContext(id))}, case when ${id === guarded.id} then now() end)`.execute(
      db.write,
    );
  }
  await sql`insert into recovery_codes (user_id, digest)
    select ${guarded.id}, sha256(code::bytea) from unnest(${recovery}::text[]) code`.execute(db.write);
  await sql`insert into mailed_links (digest, purpose, user_id, email, expires_at)
    select sha256(secret::bytea), purpose, ${beginner.id}, ${beginner.email}, now() + interval '1 day'
    from unnest(${Object.keys(links)}::text[], ${Object.values(links)}::text[]) as link (purpose, secret)`.execute(
    db.write,
  );
  await sql`insert into sessions (user_id, digest, ends_at)
    values (${signedIn.id}, sha256(${session}::bytea), now() + interval '7 days'),
      (${signedIn.id}, sha256(${ended}::bytea), now())`.execute(db.write);

  return {
    session: shown(session),
    unproved: {
      "a cookie alone": shown(session).slice(0, 1),
      "a cookie from another site": shown(session).with(1, ["sec-fetch-site", "cross-site"]),
      "a cookie with the proof of another": shown(session).with(2, ["x-csrf-token", csrfTokenOf(ended)]),
      "an ended session": shown(ended),
    },
    secrets: {
      "a session": [session, ended, csrfTokenOf(session), csrfTokenOf(ended)],
      "a second factor": [factor, ...recovery],
      [LINKS]: Object.values(links),
      "a digest": [session, ...Object.values(links)].map(tokenDigest),
    },

    proofFor({ method, path }) {
      switch (`${method} ${path}`) {
        case "POST /session":
          return fc.oneof(
            fc
              .constantFrom(signedIn.username, signedIn.username.toUpperCase(), signedIn.email)
              .map((login) => ({ login, password: PASSWORD })),
            fc
              .constantFrom(...recovery)
              .map((otp_attempt) => ({ login: guarded.username, password: PASSWORD, otp_attempt })),
            fc.nat().map((n) => ({ login: late.username, password: PASSWORD, new_password: `${PASSWORD_CANARY}${n}` })),
          );
        case "PUT /user/password":
          return fc.nat().map((n) => ({ current_password: PASSWORD, password: `${PASSWORD_CANARY}${n}` }));
        case "POST /user/two_factor":
          return fc.constant({ current_password: PASSWORD });
        case "PUT /user/two_factor":
          return fc.constant(undefined).map(() => ({ code: codeOf(factor) }));
        case "DELETE /user/two_factor":
        case "POST /user/two_factor/recovery_codes":
          return fc.constantFrom(...recovery).map((code) => ({ code }));
        case "GET /-/account/confirm":
        case "POST /-/account/confirm":
          return fc.constant({ token: links.confirm });
        case "GET /-/account/password":
          return fc.constantFrom(links.reset, links.invite).map((token) => ({ token }));
        case "POST /-/account/password":
          return fc.tuple(fc.constantFrom(links.reset, links.invite), fc.nat()).map(([token, n]) => {
            const password = `${PASSWORD_CANARY}${n}`;
            return { token, password, password_again: password };
          });
        default:
          return undefined;
      }
    },
  };
}

const shown = (secret: string): Headers => [
  ["cookie", `fairlead_session=${secret}`],
  ["sec-fetch-site", "same-origin"],
  ["x-csrf-token", csrfTokenOf(secret)],
];

const codeOf = (factor: string) => totpCode(factor, Math.floor(Date.now() / (STEP_SECONDS * 1000)));
