import { hash, randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Sealing } from "#lib/sealing.ts";
import { base32, STEP_SECONDS, totpStep } from "#lib/totp.ts";

const RECOVERY_CODE_COUNT = 10;
const RECOVERY_CODE_BYTES = 10;

/** Binds the sealed secret of a second factor to its row. */
export const sealingContext = (userId: number) => `second_factors.sealed_secret ${userId}`;

/** The time step of an authenticator code, or undefined if the code is wrong or already used. */
export async function stepOfCode(tx: Tx, sealing: Sealing, userId: number, code: string): Promise<number | undefined> {
  const factor = await tx
    .selectFrom("second_factors")
    .select([
      "sealed_secret",
      "last_step",
      // The database's clock, so that all processes agree on which codes were used.
      sql<number>`floor(extract(epoch from clock_timestamp()) / ${sql.lit(STEP_SECONDS)})::bigint`.as("now"),
    ])
    .where("user_id", "=", userId)
    .executeTakeFirst();
  if (!factor) return undefined;
  return totpStep(
    await sealing.unseal(factor.sealed_secret, sealingContext(userId)),
    code,
    factor.now,
    factor.last_step,
  );
}

/** Uses up an authenticator or recovery code of a user; returns false if it is wrong or already used. */
export async function useCode(tx: Tx, sealing: Sealing, userId: number, text: string): Promise<boolean> {
  const code = text.replaceAll(/[\s-]/g, "").toLowerCase();
  if (!/^\d{6}$/.test(code)) return useRecoveryCode(tx, userId, code);
  const step = await stepOfCode(tx, sealing, userId, code);
  if (step === undefined) return false;
  const { numUpdatedRows } = await tx
    .updateTable("second_factors")
    .set({ last_step: step })
    .where("user_id", "=", userId)
    // Another request may have used it since the step was read.
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

/** Replaces the recovery codes of a user, who needs one if the authenticator is lost; only their digests are stored. */
export async function replaceRecoveryCodes(tx: Tx, userId: number): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODE_COUNT }, () =>
    base32(randomBytes(RECOVERY_CODE_BYTES)).toLowerCase(),
  );
  await tx.deleteFrom("recovery_codes").where("user_id", "=", userId).execute();
  await tx
    .insertInto("recovery_codes")
    .values(codes.map((code) => ({ user_id: userId, digest: digestOf(code) })))
    .execute();
  return codes.map((code) => code.replaceAll(/.{4}(?=.)/g, "$&-"));
}

const digestOf = (code: string) => hash("sha256", code, "buffer");
