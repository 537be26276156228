import { sql } from "kysely";
import { LEVELS } from "#access/roles.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Db, Tx } from "#db/database.ts";
import type { ExpiringToken } from "./messages.ts";

const MOST_AT_ONCE = 100;
const MOST_OWNERS = 100;

const today = sql`(now() at time zone 'UTC')::date`;

/** The place of a token among those that expire, so that one run looks at each once. */
export interface Place {
  readonly expires_at: string;
  readonly id: number;
}

interface Due extends Place {
  readonly user_id: number;
}

/**
 * Marks the next tokens whose notice of 30, 7 or 1 days is due and was not sent, and gives them. A token that was made
 * for less time than that has no such notice, and after a day without a worker the notices of that day are due still.
 */
export async function takeDue(tx: Tx, after: Place | undefined): Promise<Due[]> {
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
      limit ${sql.lit(MOST_AT_ONCE)}
      for update of t skip locked
    )
    update personal_access_tokens t set expiry_notice = due.days from due where t.id = due.id
    returning t.id, t.expires_at, t.user_id`.execute(tx);
  return rows.toSorted((a, b) => (a.expires_at === b.expires_at ? a.id - b.id : a.expires_at < b.expires_at ? -1 : 1));
}

/** Who is told of a user's tokens: a person themselves; of a group's service account the Owners of the group. */
export async function toldOf(db: Db, userId: number): Promise<number[]> {
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
    limit ${sql.lit(MOST_OWNERS)})`.execute(db);
  return rows.map(({ id }) => id);
}

/** A token that still is about to expire, as the receiver of the notice knows it. */
export async function expiringToken(db: Db, id: number, receiverId: number): Promise<ExpiringToken | undefined> {
  const { rows } = await sql<ExpiringToken>`
    select t.name, t.expires_at, t.expires_at - ${today} as days,
      case when u.id <> ${receiverId} then u.username end as account
    from personal_access_tokens t join users u on u.id = t.user_id
    where t.id = ${id} and t.revoked_at is null and t.expires_at > ${today}`.execute(db);
  return rows[0];
}
