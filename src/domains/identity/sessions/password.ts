import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { type Problems, throwProblems } from "#lib/problems.ts";
import { conflict } from "#lib/refusal.ts";
import { invalidateCredentials } from "#domains/identity/credentials/actions.ts";
import { checkPassword } from "#domains/identity/users/validate.ts";
import type { Services } from "#services.ts";
import type { AttemptedAccount } from "./attempts.ts";

/** Validates a password that a user chose for themselves, and returns its digest. */
export async function hashNewPassword({ passwords, settings }: Services, account: AttemptedAccount, password: string) {
  const problems: Problems = {};
  checkPassword(problems, password, (await settings.current()).password_minimum_length, account);
  throwProblems(problems);
  return passwords.hash(password);
}

/** Replaces the password of a user who proved to know the old one, and ends their sessions, except one. */
export async function changePassword(
  tx: Tx,
  jobs: Jobs,
  { id, password_digest }: AttemptedAccount,
  newDigest: string,
  exceptSession: number | undefined,
) {
  const { numUpdatedRows } = await tx
    .updateTable("users")
    .set({ password_digest: newDigest, updated_at: sql<string>`now()` })
    .where("id", "=", id)
    .where("password_digest", "=", password_digest)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw conflict("Password was changed by another request");
  await invalidateCredentials(tx, jobs, id, exceptSession);
}
