import { hash, randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Sealing } from "#lib/sealing.ts";
import { base32, STEP_SECONDS, totpStep } from "#lib/totp.ts";

const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;

export const secretPlace = (userId: number) => `second_factors.sealed_secret ${userId}`;

/** The step of a code of the app, where it is one and was not used yet. */
export async function stepOfCode(tx: Tx, sealing: Sealing, userId: number, code: string): Promise<number | undefined> {
  const factor = await tx
    .selectFrom("second_factors")
    .select([
      "sealed_secret",
      "last_step",
      // The database's clock, so that all processes agree on which codes are used up.
      sql<number>`floor(extract(epoch from clock_timestamp()) / ${sql.lit(STEP_SECONDS)})::bigint`.as("now"),
    ])
    .where("user_id", "=", userId)
    .executeTakeFirst();
  if (!factor) return undefined;
  return totpStep(await sealing.unseal(factor.sealed_secret, secretPlace(userId)), code, factor.now, factor.last_step);
}

/** Whether a code is one of the app or a recovery code; either works once. */
export async function isOwnCode(tx: Tx, sealing: Sealing, userId: number, given: string): Promise<boolean> {
  const code = given.replaceAll(/[\s-]/g, "").toLowerCase();
  if (!/^\d{6}$/.test(code)) return useRecoveryCode(tx, userId, code);
  const step = await stepOfCode(tx, sealing, userId, code);
  if (step === undefined) return false;
  const { numUpdatedRows } = await tx
    .updateTable("second_factors")
    .set({ last_step: step })
    .where("user_id", "=", userId)
    // Another request may have used it since it was read.
    .where("last_step", "<", step)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

async function useRecoveryCode(tx: Tx, userId: number, code: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("recovery_codes")
    .set({ used_at: sql<string>`now()` })
    .where("user_id", "=", userId)
    .where("digest", "=", digestOf(code))
    .where("used_at", "is", null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Makes codes for whoever loses their app, in place of any before; only their digests are kept. */
export async function replaceRecoveryCodes(tx: Tx, userId: number): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => base32(randomBytes(RECOVERY_BYTES)).toLowerCase());
  await tx.deleteFrom("recovery_codes").where("user_id", "=", userId).execute();
  await tx
    .insertInto("recovery_codes")
    .values(codes.map((code) => ({ user_id: userId, digest: digestOf(code) })))
    .execute();
  return codes.map((code) => code.replaceAll(/.{4}(?=.)/g, "$&-"));
}

const digestOf = (code: string) => hash("sha256", code, "buffer");
