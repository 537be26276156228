import { sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { missing } from "#lib/refusal.ts";
import { mailTo } from "#resources/mails/send.ts";
import { holdAddress } from "#resources/users/emails.ts";
import { checkEmail } from "#resources/users/validate.ts";
import type { EmailRow } from "./entity.ts";

const MOST_ADDRESSES = 20;

/** The secondary addresses of a user. */
export const emailsOf = (db: Db, userId: number) =>
  db.selectFrom("emails as e").select(["e.id", "e.email", "e.confirmed_at"]).where("e.user_id", "=", userId);

export async function emailOf(db: Db, userId: number, id: number): Promise<EmailRow> {
  const found = await emailsOf(db, userId).where("e.id", "=", id).executeTakeFirst();
  if (!found) throw missing("Email");
  return found;
}

/** Gives a user, who is locked, another address; it counts once a link that is sent there was followed. */
export async function addEmail(
  tx: Tx,
  jobs: Jobs,
  userId: number,
  given: string,
  confirmed: boolean,
): Promise<EmailRow> {
  const email = given.trim().toLowerCase();
  const problems: Problems = {};
  checkEmail(problems, "email", email);
  await holdAddress(tx, email);
  const { rows } = await sql<{ taken: boolean; number: number }>`select
    exists (select from users where lower(email) = ${email})
      or exists (select from emails where lower(email) = ${email}) as taken,
    (select count(*) from emails where user_id = ${userId}) as number`.execute(tx);
  if (rows[0]?.taken) refuse(problems, "email", "has already been taken");
  if ((rows[0]?.number ?? 0) >= MOST_ADDRESSES) {
    refuse(problems, "email", `is one too many: a user has at most ${MOST_ADDRESSES} secondary addresses`);
  }
  throwProblems(problems);
  const added = await tx
    .insertInto("emails")
    .values({ user_id: userId, email, confirmed_at: confirmed ? sql<string>`now()` : null })
    .returning(["id", "email", "confirmed_at"])
    .executeTakeFirstOrThrow();
  if (!confirmed) await mailTo(jobs, tx, { kind: "confirm_email", userId, email });
  return added;
}

/** Takes an address away from a user, who is locked, and from wherever it was chosen. */
export async function removeEmail(tx: Tx, userId: number, id: number): Promise<EmailRow> {
  const gone = await emailOf(tx, userId, id);
  await tx.deleteFrom("emails").where("id", "=", id).execute();
  await sql`
    update users set updated_at = now(),
      public_email = case when lower(public_email) <> lower(${gone.email}) then public_email end,
      commit_email = case when lower(commit_email) <> lower(${gone.email}) then commit_email end,
      unconfirmed_email = case when lower(unconfirmed_email) <> lower(${gone.email}) then unconfirmed_email end
    where id = ${userId}`.execute(tx);
  await tx.deleteFrom("mailed_links").where("user_id", "=", userId).where("email", "=", gone.email).execute();
  return gone;
}
