import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import { lockAddress } from "#domains/identity/users/emails.ts";
import { checkEmail } from "#domains/identity/users/validate.ts";
import type { EmailRow } from "./entity.ts";
import { emailOf } from "./queries.ts";

const MAX_ADDRESSES = 20;

/** Adds a secondary address to a user, who is locked, and mails a confirmation link to it unless it is confirmed. */
export async function addEmail(
  tx: Tx,
  jobs: Jobs,
  userId: number,
  address: string,
  confirmed: boolean,
): Promise<EmailRow> {
  const email = address.trim().toLowerCase();
  const problems: Problems = {};
  checkEmail(problems, "email", email);
  await lockAddress(tx, email);
  const { rows } = await sql<{ taken: boolean; count: number }>`select
    exists (select from users where lower(email) = ${email})
      or exists (select from emails where lower(email) = ${email}) as taken,
    (select count(*) from emails where user_id = ${userId}) as count`.execute(tx);
  if (rows[0]?.taken) refuse(problems, "email", "has already been taken");
  if ((rows[0]?.count ?? 0) >= MAX_ADDRESSES) {
    refuse(problems, "email", `is one too many: a user has at most ${MAX_ADDRESSES} secondary addresses`);
  }
  throwProblems(problems);
  const added = await tx
    .insertInto("emails")
    .values({ user_id: userId, email, confirmed_at: confirmed ? sql<string>`now()` : null })
    .returning(["id", "email", "confirmed_at", "updated_at"])
    .executeTakeFirstOrThrow();
  if (!confirmed) await mailTo(jobs, tx, { kind: "confirm_email", userId, email });
  return added;
}

/** Removes a secondary address of a user, who is locked, also where the user chose it as public or commit address. */
export async function removeEmail(tx: Tx, userId: number, id: number): Promise<EmailRow> {
  const removed = await emailOf(tx, userId, id);
  await tx.deleteFrom("emails").where("id", "=", id).execute();
  await sql`
    update users set updated_at = now(),
      public_email = case when lower(public_email) <> lower(${removed.email}) then public_email end,
      commit_email = case when lower(commit_email) <> lower(${removed.email}) then commit_email end,
      unconfirmed_email = case when lower(unconfirmed_email) <> lower(${removed.email}) then unconfirmed_email end
    where id = ${userId}`.execute(tx);
  await tx.deleteFrom("mailed_links").where("user_id", "=", userId).where("email", "=", removed.email).execute();
  return removed;
}
