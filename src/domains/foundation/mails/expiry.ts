import { sql } from "kysely";
import { LEVELS } from "#access/roles.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Db, Tx } from "#db/database.ts";
import type { ExpiringToken } from "./messages.ts";

const BATCH_SIZE = 100;
const MAX_OWNERS = 100;

const today = sql`(now() at time zone 'UTC')::date`;

/** The keyset position among expiring tokens, so that one run visits each token once. */
export interface ExpiryCursor {
  readonly expires_at: string;
  readonly id: number;
}

interface Due extends ExpiryCursor {
  readonly user_id: number;
}

/**
 * Marks and returns the next tokens whose notice 30, 7 or 1 days before expiry is due and unsent. A token whose
 * lifetime is shorter than a notice period skips that notice; notices missed while no worker ran are still due.
 */
export async function claimDueNotices(tx: Tx, after: ExpiryCursor | undefined): Promise<Due[]> {
  const { expires_at, id } = after ?? { expires_at: "-infinity", id: 0 };
  const { rows } = await sql<Due>`
    with due as (
      select t.id, notice.days
      from personal_access_tokens t cross join lateral (
        select min(days) as days from (values (30), (7), (1)) as known (days)
        where t.expires_at - ${today} <= days and days < t.expires_at - (t.created_at at time zone 'UTC')::date
      ) as notice
      where t.revoked_at is null and t.expires_at > ${today} and t.expires_at <= ${today} + 30
        and (t.expires_at, t.id) > (${expires_at}::date, ${id}) and not t.impersonation
        and notice.days < coalesce(t.expiry_notice, 31)
      order by t.expires_at, t.id
      limit ${sql.lit(BATCH_SIZE)}
      for update of t skip locked
    )
    update personal_access_tokens t set expiry_notice = due.days from due where t.id = due.id
    returning t.id, t.expires_at, t.user_id`.execute(tx);
  return rows.toSorted((a, b) => (a.expires_at === b.expires_at ? a.id - b.id : a.expires_at < b.expires_at ? -1 : 1));
}

/** Who gets the notices for a user's tokens: the person, or for a group's service account the group's Owners. */
export async function noticeRecipients(db: Db, userId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select u.id from users u where u.id = ${userId} and u.user_type = 'human'
    union
    (select m.user_id
    from users u
    join namespaces g on g.id = u.provisioned_by_group_id
    join members m on m.group_id = any(g.traversal_ids)
    join users o on o.id = m.user_id
    where u.id = ${userId} and u.user_type = 'service_account'
      and m.access_level = ${sql.lit(LEVELS.owner)} and (m.expires_at is null or m.expires_at > ${today})
      and o.user_type = 'human' and o.state <> all(${CLOSED_STATES}::text[])
    order by m.user_id
    limit ${sql.lit(MAX_OWNERS)})`.execute(db);
  return rows.map(({ id }) => id);
}

/** A token that is still about to expire, described for the receiver of the notice. */
export async function expiringToken(db: Db, id: number, receiverId: number): Promise<ExpiringToken | undefined> {
  const { rows } = await sql<ExpiringToken>`
    select t.name, t.expires_at, t.expires_at - ${today} as days,
      case when u.id <> ${receiverId} then u.username end as account
    from personal_access_tokens t join users u on u.id = t.user_id
    where t.id = ${id} and t.revoked_at is null and t.expires_at > ${today}`.execute(db);
  return rows[0];
}
