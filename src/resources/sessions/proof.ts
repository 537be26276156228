import type { Origin } from "#access/access.ts";
import { badFields, badRequest, forbidden } from "#lib/refusal.ts";
import { isOwnCode } from "#resources/second-factor/codes.ts";
import type { Services } from "#services.ts";
import { counted, type Tried, uncount, WRONG } from "./attempts.ts";

const EVENT = "user_proof_failed";
const LOCKED = "Your account is locked for ten minutes, after too many wrong passwords or codes";

/** Makes somebody who is signed in prove that they know their password; wrong ones count as they do at sign-in. */
export const provePassword = (services: Services, origin: Origin, userId: number, password: string): Promise<Tried> =>
  prove(services, origin, userId, "current_password", async (account) => {
    if (account.password_digest === null) throw badRequest("there is no password yet: ask for one by mail");
    return (await services.passwords.verify(password, account.password_digest)).matches;
  });

/** The same with a code of their second factor, which is used up by it. */
export const proveCode = (services: Services, origin: Origin, userId: number, code: string): Promise<Tried> =>
  prove(services, origin, userId, "code", (account) => {
    if (!account.two_factor_enabled) throw badRequest("two-factor authentication is not enabled");
    return services.db.transaction((tx) => isOwnCode(tx, services.sealing, userId, code));
  });

async function prove(
  services: Services,
  origin: Origin,
  userId: number,
  field: string,
  isRight: (account: Tried) => Promise<boolean>,
): Promise<Tried> {
  const found = await counted(services, origin, EVENT, { userId }, async (account) => {
    if (!account?.counted) throw forbidden(LOCKED);
    if (!(await isRight(account))) return WRONG;
    // A right password must not wipe out wrong codes, nor the other way round: that takes both, at sign-in.
    await services.db.transaction((tx) => uncount(tx, account.id));
    return account;
  });
  if (found === WRONG) throw badFields({ [field]: ["is invalid"] });
  return found;
}
