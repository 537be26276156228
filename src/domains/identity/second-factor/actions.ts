import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Sealing } from "#lib/sealing.ts";
import { newTotpSecret } from "#lib/totp.ts";
import { badFields, badRequest, conflict } from "#lib/refusal.ts";
import { endSessions } from "#domains/identity/credentials/actions.ts";
import { replaceRecoveryCodes, sealingContext, stepOfCode } from "#domains/identity/credentials/codes.ts";

/** Creates the secret of a second factor, which takes effect once a code of it is confirmed. */
export async function beginSecondFactor(tx: Tx, sealing: Sealing, userId: number): Promise<string> {
  await refuseEnabled(tx, userId);
  const secret = newTotpSecret();
  const sealed_secret = await sealing.seal(secret, sealingContext(userId));
  await tx
    .insertInto("second_factors")
    .values({ user_id: userId, sealed_secret })
    .onConflict((clash) => clash.column("user_id").doUpdateSet({ sealed_secret, last_step: 0 }))
    .execute();
  return secret;
}

/** Enables the second factor by its first code, and returns the recovery codes. */
export async function confirmSecondFactor(tx: Tx, sealing: Sealing, userId: number, code: string): Promise<string[]> {
  await refuseEnabled(tx, userId);
  const pending = await tx
    .selectFrom("second_factors")
    .select("user_id")
    .where("user_id", "=", userId)
    .executeTakeFirst();
  if (!pending) throw badRequest("there is no second factor to confirm: make one first");
  const step = await stepOfCode(tx, sealing, userId, code.replaceAll(/[\s-]/g, ""));
  if (step === undefined) throw badFields({ code: ["is invalid"] });
  await tx
    .updateTable("second_factors")
    .set({ confirmed_at: sql<string>`now()`, last_step: step })
    .where("user_id", "=", userId)
    .execute();
  await tx.updateTable("users").set({ two_factor_enabled: true }).where("id", "=", userId).execute();
  return replaceRecoveryCodes(tx, userId);
}

/** Replaces the recovery codes of a user with a second factor. */
export async function renewRecoveryCodes(tx: Tx, userId: number): Promise<string[]> {
  if (!(await lockEnabled(tx, userId))) throw badRequest("two-factor authentication is not enabled");
  return replaceRecoveryCodes(tx, userId);
}

async function refuseEnabled(tx: Tx, userId: number) {
  if (await lockEnabled(tx, userId)) throw conflict("Two-factor authentication is enabled already");
}

/** Locks the user, so that no other request changes the second factor meanwhile. */
async function lockEnabled(tx: Tx, userId: number): Promise<boolean> {
  const user = await tx
    .selectFrom("users")
    .select("two_factor_enabled")
    .where("id", "=", userId)
    .forUpdate()
    .executeTakeFirst();
  return user?.two_factor_enabled === true;
}

/** Removes a user's second factor and ends their sessions, except one; returns false if it was not enabled. */
export async function removeSecondFactor(tx: Tx, userId: number, exceptSession?: number): Promise<boolean> {
  const enabled = await lockEnabled(tx, userId);
  await tx.deleteFrom("second_factors").where("user_id", "=", userId).execute();
  if (!enabled) return false;
  await tx.updateTable("users").set({ two_factor_enabled: false }).where("id", "=", userId).execute();
  await endSessions(tx, userId, exceptSession);
  return true;
}
