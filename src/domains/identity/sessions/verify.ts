import type { Origin } from "#access/access.ts";
import { badFields, badRequest, forbidden, type Refusal, refusedSignIn } from "#lib/refusal.ts";
import { useCode } from "#domains/identity/credentials/codes.ts";
import type { Services } from "#services.ts";
import { type AttemptedAccount, countAttempt, sourcesOf, subtractAttempt, WRONG } from "./attempts.ts";

const EVENT = "user_proof_failed";
const LOCKED = "Your account is locked for ten minutes, after too many wrong passwords or codes";

/** Verifies the password of a user who is signed in; failed attempts count as they do at sign-in. */
export const verifyPassword = (
  services: Services,
  origin: Origin,
  userId: number,
  password: string,
): Promise<AttemptedAccount> =>
  verify(services, origin, userId, "current_password", async (account) => {
    if (account.password_digest === null) throw badRequest("there is no password yet: ask for one by mail");
    return (await services.passwords.verify(password, account.password_digest)).matches;
  });

/** Verifies and uses up a code of the second factor of a user who is signed in. */
export const verifyCode = (
  services: Services,
  origin: Origin,
  userId: number,
  code: string,
): Promise<AttemptedAccount> =>
  verify(services, origin, userId, "code", (account) => {
    if (!account.two_factor_enabled) throw badRequest("two-factor authentication is not enabled");
    return services.db.transaction((tx) => useCode(tx, services.sealing, userId, code));
  });

async function verify(
  services: Services,
  origin: Origin,
  userId: number,
  field: "current_password" | "code",
  isCorrect: (account: AttemptedAccount) => Promise<boolean>,
): Promise<AttemptedAccount> {
  const kind = field === "code" ? "second_factor" : "password";
  const refused = (refusal: Refusal, reason: string) => refusedSignIn(refusal, { kind, reason });
  const key = { userId };
  const result = await countAttempt(services, origin, EVENT, key, async (account) => {
    if (!account || account.locked) throw refused(forbidden(LOCKED), "locked account");
    if (!(await isCorrect(account))) return WRONG;
    // A correct password must not reset the count of wrong codes, nor the reverse: only signing in with both does.
    await services.db.transaction((tx) => subtractAttempt(tx, account.id, sourcesOf(key, origin)));
    return account;
  });
  if (result === WRONG)
    throw refused(badFields({ [field]: ["is invalid"] }), field === "code" ? "wrong code" : "wrong password");
  return result;
}
