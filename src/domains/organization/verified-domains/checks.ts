import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import type { DomainRow } from "./queries.ts";

/** How many domains are looked up between two transactions. */
const BATCH = 20;

/** A batch of domains whose record is due for a recheck. */
export const domainsToCheck = (tx: Tx): Promise<DomainRow[]> =>
  tx
    .selectFrom("verified_domains")
    .selectAll()
    .where("verified_by", "=", sql.lit("dns"))
    .where("last_checked_at", "<", sql<string>`now() - interval '12 hours'`)
    .orderBy("last_checked_at")
    .orderBy("id")
    .limit(sql.lit(BATCH))
    .execute();

interface Check {
  readonly id: number;
  readonly found: boolean;
}

/** Stores the results; a domain whose record has been missing for a week is no longer verified. */
export async function recordChecks(tx: Tx, checks: readonly Check[], job: string) {
  const idsOf = (found: boolean) => checks.filter((check) => check.found === found).map(({ id }) => id);
  await sql`update verified_domains set last_checked_at = now(), failing_since = null
    where id = any(${idsOf(true)}::bigint[]) and verified_by = 'dns'`.execute(tx);
  const { rows: lost } = await sql<DomainRow>`
    update verified_domains d
    set last_checked_at = now(),
      failing_since = case when not is_over then coalesce(failing_since, now()) end,
      verified_at = case when not is_over then verified_at end,
      verified_by = case when not is_over then verified_by end
    from (select id, coalesce(failing_since < now() - interval '7 days', false) as is_over from verified_domains
      where id = any(${idsOf(false)}::bigint[]) and verified_by = 'dns' for update) failing
    where d.id = failing.id
    returning d.*`.execute(tx);
  for (const { id, domain, group_id, verified_at } of lost) {
    if (verified_at !== null) continue;
    await writeAudit(
      tx,
      "verified_domain_lost",
      null,
      { address: "0.0.0.0", requestId: job },
      {
        type: "VerifiedDomain",
        id,
        name: domain,
        entity: { type: "Group", id: group_id },
      },
    );
  }
}
