import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { type Problems, throwProblems } from "#lib/problems.ts";
import { conflict } from "#lib/refusal.ts";
import { endLinks } from "#resources/mails/links.ts";
import { mailTo } from "#resources/mails/send.ts";
import { checkPassword } from "#resources/users/validate.ts";
import type { Services } from "#services.ts";
import { endSessions } from "./actions.ts";
import type { Tried } from "./attempts.ts";

/** The digest of a password that somebody chooses for themselves. */
export async function digestOfChosen({ passwords, settings }: Services, account: Tried, password: string) {
  const problems: Problems = {};
  checkPassword(problems, password, (await settings.current()).password_minimum_length, account);
  throwProblems(problems);
  return passwords.hash(password);
}

/** Gives a user another password in place of the one they proved to know. */
export async function changePassword(
  tx: Tx,
  jobs: Jobs,
  { id, password_digest }: Tried,
  newDigest: string,
  session: number | undefined,
) {
  const { numUpdatedRows } = await tx
    .updateTable("users")
    .set({ password_digest: newDigest, updated_at: sql<string>`now()` })
    .where("id", "=", id)
    .where("password_digest", "=", password_digest)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw conflict("Password was changed by another request");
  await endWhatOldOpened(tx, jobs, id, session);
}

/** What the old password opened, or could be replaced by, ends with it, but for the session that asks for that; told by mail. */
export async function endWhatOldOpened(tx: Tx, jobs: Jobs, userId: number, session?: number) {
  await endSessions(tx, userId, session);
  await endLinks(tx, { user_id: userId, purpose: "reset" });
  await mailTo(jobs, tx, { kind: "password_changed", userId });
}
