import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Sealing } from "#lib/sealing.ts";
import { newTotpSecret } from "#lib/totp.ts";
import { badFields, badRequest, conflict } from "#lib/refusal.ts";
import { endSessions } from "#resources/sessions/actions.ts";
import { replaceRecoveryCodes, secretPlace, stepOfCode } from "./codes.ts";

/** Makes the secret of a second factor, which counts once a code has proved that the app has it. */
export async function beginSecondFactor(tx: Tx, sealing: Sealing, userId: number): Promise<string> {
  await refuseEnabled(tx, userId);
  const secret = newTotpSecret();
  const sealed_secret = await sealing.seal(secret, secretPlace(userId));
  await tx
    .insertInto("second_factors")
    .values({ user_id: userId, sealed_secret })
    .onConflict((clash) => clash.column("user_id").doUpdateSet({ sealed_secret, last_step: 0 }))
    .execute();
  return secret;
}

/** Turns the second factor on by its first code, and gives the recovery codes. */
export async function confirmSecondFactor(tx: Tx, sealing: Sealing, userId: number, code: string): Promise<string[]> {
  await refuseEnabled(tx, userId);
  const begun = await tx
    .selectFrom("second_factors")
    .select("user_id")
    .where("user_id", "=", userId)
    .executeTakeFirst();
  if (!begun) throw badRequest("there is no second factor to confirm: make one first");
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

/** Makes recovery codes anew for whoever has a second factor. */
export async function renewRecoveryCodes(tx: Tx, userId: number): Promise<string[]> {
  if (!(await isEnabled(tx, userId))) throw badRequest("two-factor authentication is not enabled");
  return replaceRecoveryCodes(tx, userId);
}

async function refuseEnabled(tx: Tx, userId: number) {
  if (await isEnabled(tx, userId)) throw conflict("Two-factor authentication is enabled already");
}

/** Holds the user, so that nobody else changes their second factor meanwhile. */
async function isEnabled(tx: Tx, userId: number): Promise<boolean> {
  const user = await tx
    .selectFrom("users")
    .select("two_factor_enabled")
    .where("id", "=", userId)
    .forUpdate()
    .executeTakeFirst();
  return user?.two_factor_enabled === true;
}

/**
 * Takes a user's second factor away with its recovery codes, and ends their sessions, all or all but one; false where
 * there was none.
 */
export async function removeSecondFactor(tx: Tx, userId: number, exceptSession?: number): Promise<boolean> {
  const enabled = await isEnabled(tx, userId);
  await tx.deleteFrom("second_factors").where("user_id", "=", userId).execute();
  if (!enabled) return false;
  await tx.updateTable("users").set({ two_factor_enabled: false }).where("id", "=", userId).execute();
  await endSessions(tx, userId, exceptSession);
  return true;
}
