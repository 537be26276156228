import { sql } from "kysely";
import type { Tx } from "#db/database.ts";

/** Counts mails that an author is about to cause in this hour, and returns how many of them may be sent. */
export async function takeMails(tx: Tx, authorId: number, wanted: number, perHour: number): Promise<number> {
  if (wanted === 0) return 0;
  const { rows } = await sql<{ count: number }>`
    insert into mail_counts as known (author_id, hour, count)
    select id, date_trunc('hour', now()), ${wanted} from users where id = ${authorId}
    on conflict (author_id) do update set hour = excluded.hour,
      count = case when known.hour = excluded.hour then least(known.count, ${perHour}::integer) else 0 end + excluded.count
    returning count`.execute(tx);
  const before = (rows[0]?.count ?? wanted) - wanted;
  return Math.max(Math.min(wanted, perHour - before), 0);
}
