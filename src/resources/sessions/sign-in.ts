import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { ActingUser } from "#access/actor.ts";
import { stateProblem } from "#access/authenticate.ts";
import { actingUserColumns } from "#access/callers.ts";
import type { Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { badFields, forbidden, unauthenticated } from "#lib/refusal.ts";
import { mailTo } from "#resources/mails/send.ts";
import { isOwnCode } from "#resources/second-factor/codes.ts";
import { targetOf } from "#resources/users/named.ts";
import type { Services } from "#services.ts";
import { beginSession, isKnownBrowser } from "./actions.ts";
import { counted, type Tried, WRONG } from "./attempts.ts";
import { digestOfChosen, endWhatOldOpened } from "./password.ts";

/** What somebody sends who wants to sign in. */
interface Given {
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

/** Begins a session for whoever knows the password and, where there is one, has the second factor. */
export async function signIn(services: Services, origin: Origin, given: Given): Promise<SignedIn> {
  const found = await counted(services, origin, "user_sign_in_failed", given, async (account) => {
    // A locked account is as if it were not there, down to the time it takes.
    const digest = account?.counted ? account.password_digest : null;
    const { matches, outdated } = await services.passwords.verify(given.password, digest);
    if (!account || !matches) return WRONG;
    const newDigest = await digestToKeep(services, account, given, outdated);
    return services.db.transaction((tx) => enter(tx, services, origin, account, given, newDigest));
  });
  if (found === WRONG) throw unauthenticated("Invalid login or password.");
  return found;
}

/** The digest of a new password where the old one expired, or of the same one where digests cost more by now. */
async function digestToKeep(services: Services, account: Tried, { password, new_password }: Given, outdated: boolean) {
  if (!account.password_expired) return outdated ? services.passwords.hash(password) : undefined;
  if (new_password === undefined) return undefined;
  if (new_password === password) throw badFields({ password: ["must not be the one that expired"] });
  return digestOfChosen(services, account, new_password);
}

/** The rest is told only to those who know the password. */
async function enter(
  tx: Tx,
  services: Services,
  origin: Origin,
  account: Tried,
  { otp_attempt }: Given,
  newDigest: string | undefined,
): Promise<SignedIn | typeof WRONG> {
  const user = await lockedUser(tx, account.id);
  if (!user || isChanged(user, account)) return WRONG;
  const problem = stateProblem({ ...user, password_expired: false });
  if (problem !== undefined) throw forbidden(problem);
  if (user.two_factor_enabled && otp_attempt === undefined)
    throw forbidden("A two-factor code is required: send otp_attempt");
  if (user.password_expired && newDigest === undefined) throw forbidden("Your password expired: send new_password");
  if (user.two_factor_enabled && !(await isOwnCode(tx, services.sealing, user.id, otp_attempt ?? ""))) return WRONG;

  const isNewBrowser = user.sign_in_count > 0 && !(await isKnownBrowser(tx, user.id, origin));
  if (user.password_expired) await endWhatOldOpened(tx, services.jobs, user.id);
  const { signed_in_at } = await recordSignIn(tx, user.id, origin, newDigest);
  const session = await beginSession(tx, user.id, origin);
  if (isNewBrowser) {
    const [ip, agent] = [origin.address, origin.agent.slice(0, 255)];
    await mailTo(services.jobs, tx, { kind: "new_sign_in", userId: user.id, ip, agent, at: signed_in_at });
  }
  await writeAudit(tx, "user_signed_in", { user }, origin, targetOf(user));
  return { userId: user.id, ...session };
}

/** Whether somebody gave the user another password while the old one was looked at. */
const isChanged = (user: LockedUser, { password_digest, password_expired }: Tried) =>
  user.password_digest !== password_digest || user.password_expired !== password_expired;

interface LockedUser extends ActingUser {
  readonly password_digest: string | null;
  readonly two_factor_enabled: boolean;
  readonly sign_in_count: number;
}

async function lockedUser(tx: Tx, id: number): Promise<LockedUser | undefined> {
  const { rows } = await sql<LockedUser>`
    select ${sql.raw(actingUserColumns)}, u.password_digest, u.two_factor_enabled, u.sign_in_count
    from users u where u.id = ${id} for update`.execute(tx);
  return rows[0];
}

const recordSignIn = (tx: Tx, id: number, { address }: Origin, newDigest: string | undefined) =>
  tx
    .updateTable("users")
    .set({
      failed_attempts: 0,
      locked_until: null,
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
