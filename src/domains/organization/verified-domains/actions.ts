import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Dns } from "#lib/dns.ts";
import { badFields, badRequest, missing } from "#lib/refusal.ts";
import { recordOf } from "./names.ts";
import { type DomainRow, domainsOf } from "./queries.ts";

const MAX_DOMAINS = 20;

/** Adds a group's claim to a domain, which has no effect until it is verified. */
export async function addDomain(tx: Tx, groupId: number, domain: string): Promise<DomainRow> {
  await lockTopLevelGroup(tx, groupId);
  const { domains } = await domainsOf(tx, groupId)
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as("domains"))
    .executeTakeFirstOrThrow();
  if (domains >= MAX_DOMAINS) throw badFields({ base: [`a group may have at most ${MAX_DOMAINS} domains`] });
  // Unverified claims of other groups do not block this one.
  const taken = await tx
    .selectFrom("verified_domains")
    .select("id")
    .where("domain", "=", domain)
    .where("verified_at", "is not", null)
    .executeTakeFirst();
  if (taken) throw badFields({ domain: ["has already been taken"] });
  return tx
    .insertInto("verified_domains")
    .values({ group_id: groupId, domain, verification_code: randomBytes(20).toString("hex") })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Locks a group and refuses one that is not top-level. */
async function lockTopLevelGroup(tx: Tx, id: number) {
  const group = await tx
    .selectFrom("namespaces")
    .select("parent_id")
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!group) throw missing("Group");
  if (group.parent_id !== null) throw badRequest("Group is not a top-level group");
}

export async function removeDomain(tx: Tx, groupId: number, id: number): Promise<DomainRow> {
  const domain = await tx
    .deleteFrom("verified_domains")
    .where("id", "=", id)
    .where("group_id", "=", groupId)
    .returningAll()
    .executeTakeFirst();
  if (!domain) throw missing("Domain");
  return domain;
}

/** Refuses a domain without its verification record in the DNS. */
export async function requireDnsRecord(dns: Dns, row: DomainRow) {
  const { name, value } = recordOf(row);
  const found = await dns.txt(name);
  if (found?.includes(value)) return;
  const instead = !found
    ? "no DNS server could tell"
    : found.length === 0
      ? "the name has no TXT record"
      : `the name has ${found.length} TXT ${found.length === 1 ? "record" : "records"}, none of them this one`;
  throw badRequest(`The TXT record ${value} was not found at ${name}: ${instead}`);
}

/** Verifies a domain for a group; a unique index makes the first of several groups win. */
export async function verifyDomain(
  tx: Tx,
  groupId: number,
  id: number,
  by: "dns" | "administrator",
): Promise<DomainRow> {
  const domain = await tx
    .updateTable("verified_domains")
    .set({
      verified_at: sql<string>`coalesce(verified_at, now())`,
      // A domain that an administrator verified is not rechecked.
      verified_by: by === "administrator" ? by : sql<"dns">`coalesce(verified_by, 'dns')`,
      ...(by === "dns" && { last_checked_at: sql<string>`now()` }),
      failing_since: null,
    })
    .where("id", "=", id)
    .where("group_id", "=", groupId)
    .returningAll()
    .executeTakeFirst();
  if (!domain) throw missing("Domain");
  return domain;
}
