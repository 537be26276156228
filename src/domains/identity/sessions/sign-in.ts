import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { ActingUser } from "#access/principal.ts";
import { stateProblem } from "#access/authenticate.ts";
import { actingUserColumns } from "#access/acting-users.ts";
import type { Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { badFields, forbidden, refusedSignIn, type SignInRefusal, unauthenticated } from "#lib/refusal.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import { useCode } from "#domains/identity/credentials/codes.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import type { Services } from "#services.ts";
import { beginSession, isKnownBrowser } from "./actions.ts";
import { type AttemptedAccount, countAttempt, forgetAttempts, sourcesOf, WRONG } from "./attempts.ts";
import { invalidateCredentials } from "#domains/identity/credentials/actions.ts";
import { hashNewPassword } from "./password.ts";

interface SignInParams {
  readonly login: string;
  readonly password: string;
  readonly otp_attempt?: string;
  readonly new_password?: string;
}

interface SignedIn {
  readonly userId: number;
  readonly secret: string;
  readonly ends_at: string;
}

const WRONG_CODE = Symbol("wrong code");

/** Begins a session for a user who knows the password and has a code of the second factor, if that is enabled. */
export async function signIn(services: Services, origin: Origin, params: SignInParams): Promise<SignedIn> {
  let refused: SignInRefusal = { kind: "password", reason: "wrong password" };
  const result = await countAttempt(services, origin, "user_sign_in_failed", params, async (account) => {
    if (!account || account.locked)
      refused = { kind: "password", reason: account ? "locked account" : "unknown login" };
    // A locked account is answered like one that does not exist, and takes the same time.
    const digest = account && !account.locked ? account.password_digest : null;
    const { matches, outdated } = await services.passwords.verify(params.password, digest);
    if (!account || !matches) return WRONG;
    const newDigest = await replacementDigest(services, account, params, outdated);
    const session = await services.db.transaction((tx) =>
      completeSignIn(tx, services, origin, account, params, newDigest),
    );
    if (session !== WRONG_CODE) return session;
    refused = { kind: "second_factor", reason: "wrong code" };
    return WRONG;
  });
  if (result === WRONG) throw refusedSignIn(unauthenticated("Invalid login or password."), refused);
  return result;
}

/** The digest to store instead: of a new password if the old one expired, or of the same one if the cost has changed. */
async function replacementDigest(
  services: Services,
  account: AttemptedAccount,
  { password, new_password }: SignInParams,
  outdated: boolean,
) {
  if (!account.password_expired) return outdated ? services.passwords.hash(password) : undefined;
  if (new_password === undefined) return undefined;
  if (new_password === password) throw badFields({ password: ["must not be the one that expired"] });
  return hashNewPassword(services, account, new_password);
}

/** Checks the state of the account, which is revealed only to those who know the password, and begins the session. */
async function completeSignIn(
  tx: Tx,
  services: Services,
  origin: Origin,
  account: AttemptedAccount,
  { otp_attempt }: SignInParams,
  newDigest: string | undefined,
): Promise<SignedIn | typeof WRONG | typeof WRONG_CODE> {
  const user = await lockUser(tx, account.id);
  if (!user || isPasswordChanged(user, account)) return WRONG;
  const problem = stateProblem({ ...user, password_expired: false });
  if (problem !== undefined) throw refusedSignIn(forbidden(problem), { kind: "password", reason: problem });
  if (user.two_factor_enabled && otp_attempt === undefined) {
    const refusal = forbidden("A two-factor code is required: send otp_attempt");
    throw refusedSignIn(refusal, { kind: "second_factor", reason: "no code" });
  }
  if (user.password_expired && newDigest === undefined) {
    const refusal = forbidden("Your password expired: send new_password");
    throw refusedSignIn(refusal, { kind: "password", reason: "expired password" });
  }
  if (user.two_factor_enabled && !(await useCode(tx, services.sealing, user.id, otp_attempt ?? ""))) return WRONG_CODE;

  const isNewBrowser = user.sign_in_count > 0 && !(await isKnownBrowser(tx, user.id, origin));
  if (user.password_expired) await invalidateCredentials(tx, services.jobs, user.id);
  const { signed_in_at } = await recordSignIn(tx, user.id, origin, newDigest);
  await forgetAttempts(tx, user.id, sourcesOf({ login: "" }, origin));
  const session = await beginSession(tx, user.id, origin);
  if (isNewBrowser) {
    const [ip, agent] = [origin.address, origin.agent.slice(0, 255)];
    await mailTo(services.jobs, tx, { kind: "new_sign_in", userId: user.id, ip, agent, at: signed_in_at });
  }
  await writeAudit(tx, "user_signed_in", { user }, origin, targetOf(user));
  return { userId: user.id, ...session };
}

/** Whether the password was changed while the old one was verified. */
const isPasswordChanged = (user: LockedUser, { password_digest, password_expired }: AttemptedAccount) =>
  user.password_digest !== password_digest || user.password_expired !== password_expired;

interface LockedUser extends ActingUser {
  readonly password_digest: string | null;
  readonly two_factor_enabled: boolean;
  readonly sign_in_count: number;
}

async function lockUser(tx: Tx, id: number): Promise<LockedUser | undefined> {
  const { rows } = await sql<LockedUser>`
    select ${sql.raw(actingUserColumns)}, u.password_digest, u.two_factor_enabled, u.sign_in_count
    from users u where u.id = ${id} for update`.execute(tx);
  return rows[0];
}

const recordSignIn = (tx: Tx, id: number, { address }: Origin, newDigest: string | undefined) =>
  tx
    .updateTable("users")
    .set({
      sign_in_count: sql`sign_in_count + 1`,
      last_sign_in_at: sql`current_sign_in_at`,
      last_sign_in_ip: sql`current_sign_in_ip`,
      current_sign_in_at: sql`now()`,
      current_sign_in_ip: address,
      last_activity_on: sql`(now() at time zone 'UTC')::date`,
      ...(newDigest !== undefined && { password_digest: newDigest, password_expired: false }),
    })
    .where("id", "=", id)
    .returning(sql<string>`current_sign_in_at`.as("signed_in_at"))
    .executeTakeFirstOrThrow();
