import { sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import { badFields } from "#lib/refusal.ts";
import type { SettingsChanges, GroupChanges } from "./params.ts";
import type { Container } from "./queries.ts";

/** Sets how much mail somebody gets where nothing else is set, and to which of their addresses. */
export async function changeSettings(
  tx: Tx,
  userId: number,
  { level, notification_email }: Static<typeof SettingsChanges>,
): Promise<void> {
  if (level === undefined && notification_email === undefined) return;
  const emailId = notification_email === undefined ? undefined : await addressOf(tx, userId, notification_email);
  const columns = { ...(level !== undefined && { level }), ...(emailId !== undefined && { email_id: emailId }) };
  await tx
    .insertInto("notification_settings")
    .values({ user_id: userId, ...columns })
    .onConflict((clash) =>
      clash.column("user_id").where("group_id", "is", null).where("project_id", "is", null).doUpdateSet(columns),
    )
    .execute();
}

/** The row of a secondary address that its user has confirmed; null for the primary one, whichever that is. */
async function addressOf(tx: Tx, userId: number, email: string): Promise<number | null> {
  const address = email.trim().toLowerCase();
  const { rows } = await sql<{ id: number | null }>`
    select null::bigint as id from users where id = ${userId} and (${address} = '' or lower(email) = ${address})
    union all
    select id from emails where user_id = ${userId} and lower(email) = ${address} and confirmed_at is not null`.execute(
    tx,
  );
  const [found] = rows;
  if (!found) throw notOwnAddress();
  return found.id;
}

export const notOwnAddress = () => badFields({ notification_email: ["is not an email you own"] });

/** Sets how much mail about a group or project somebody gets. */
export async function changeLevel(
  tx: Tx,
  userId: number,
  { column, id }: Container,
  level: Static<typeof GroupChanges>["level"],
): Promise<void> {
  const place = sql.ref(column);
  if (level === undefined) return;
  if (level === "global") {
    await sql`delete from notification_settings where user_id = ${userId} and ${place} = ${id}`.execute(tx);
    return;
  }
  await sql`
    insert into notification_settings (user_id, ${place}, level) values (${userId}, ${id}, ${level})
    on conflict (${place}, user_id) where ${place} is not null do update set level = excluded.level`.execute(tx);
}
