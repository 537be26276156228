import { sql } from "kysely";
import type { Logger } from "pino";
import type { Principal } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import type { RefChange } from "#git/push-commands.ts";
import type { AuditEntry } from "#http/audit.ts";
import type { Services } from "#services.ts";
import type { RepositoryAccess } from "./access.ts";

/** The ref changes of a push, committed before git may make them. */
export interface Intent {
  readonly id: number;
  readonly repository_id: number;
  /** The author of its events; null once that user is deleted. */
  readonly user_id: number | null;
  /** The deploy key that pushed. */
  readonly key_id: number | null;
  readonly created_at: string;
  readonly changes: readonly RefChange[];
  /** The audit event to insert when the push is recorded; null if none is due. */
  readonly audit: AuditEntry | null;
}

/** An intent of this process, which renews its lease until it is released. */
export interface LeasedIntent extends Intent {
  releaseLease(): void;
}

/** An intent whose lease ran out, because its process died or lost the database. */
export interface OrphanedIntent extends Intent {
  /** Whether git can no longer be running. */
  readonly expired: boolean;
  /** Whether another push is about to move one of its refs from the same old id, which would look the same. */
  readonly contested: boolean;
}

const LEASE_RENEWAL_INTERVAL_MS = 5_000;
const MAX_CLAIMED = 20;

/**
 * Commits what is about to change and starts renewing the lease. Returns undefined if the repository is read-only or no
 * longer where it was opened. A move locks the row of the repository before it looks for pushes, so this is either
 * refused or seen by the move.
 */
export async function createIntent(
  { db, log }: Pick<Services, "db" | "log">,
  { principal, owner, repository }: RepositoryAccess,
  changes: readonly RefChange[],
  audit: AuditEntry | null,
): Promise<LeasedIntent | undefined> {
  const author = authorOf(principal);
  const { refs, old_ids, new_ids } = columnsOf(changes);
  const { rows } = await sql<Pick<Intent, "id" | "created_at">>`
    insert into pushes (repository_id, project_id, user_id, key_id, refs, old_ids, new_ids, audit)
    select r.id, r.project_id, ${author.user_id}, ${author.key_id}, ${refs}, ${old_ids}, ${new_ids},
      ${audit && JSON.stringify(audit)}::jsonb
    from repositories r
    where r.id = ${owner.repository_id} and r.storage = ${repository.storage} and r.disk_path = ${repository.name}
      and coalesce(r.read_only_until <= now(), true)
    for key share of r
    returning id, created_at`.execute(db.write);
  const [row] = rows;
  if (!row) return undefined;
  const timer = setInterval(() => void renewLease(db.write, log, row.id), LEASE_RENEWAL_INTERVAL_MS).unref();
  return {
    ...row,
    ...author,
    repository_id: owner.repository_id,
    changes,
    audit,
    releaseLease: () => clearInterval(timer),
  };
}

/** The user whom events name, and the deploy key that they came by. */
function authorOf(principal: Principal) {
  if ("user" in principal) return { user_id: principal.user.id, key_id: null };
  if (principal.kind === "deploy key") return { user_id: principal.key.user_id, key_id: principal.key.id };
  throw new TypeError(`A push by the principal "${principal.kind}" has no author`);
}

async function renewLease(db: Db, log: Logger, id: number) {
  try {
    await sql`update pushes set held_until = now() + interval '15 seconds' where id = ${id}`.execute(db);
  } catch (error) {
    log.warn({ err: error, push: id }, "could not renew the lease of a push");
  }
}

/** Deletes an intent of which nothing happened. */
export const dropIntent = (db: Db, id: number) => db.deleteFrom("pushes").where("id", "=", id).execute();

/** Hands an intent to reconciliation, at once and for one last look, because its git has ended without a report. */
export const abandonIntent = (db: Db, id: number) =>
  sql`update pushes set held_until = now(), left_at = now() - interval '10 minutes' where id = ${id}`.execute(db);

/**
 * Deletes an intent, or reduces it to the changes that have not happened yet. Returns undefined if it no longer exists;
 * `orphaned` if another process may have recorded some of it.
 */
export async function finishIntent(tx: Tx, id: number, rest: readonly RefChange[]) {
  const { refs, old_ids, new_ids } = columnsOf(rest);
  const { rows } = await (
    rest.length === 0
      ? sql<{ orphaned: boolean }>`delete from pushes where id = ${id} returning left_at is not null as orphaned`
      : sql<{ orphaned: boolean }>`
        update pushes set refs = ${refs}, old_ids = ${old_ids}, new_ids = ${new_ids}
        where id = ${id} returning left_at is not null as orphaned`
  ).execute(tx);
  return rows[0];
}

/**
 * Claims intents whose lease ran out. Git may outlive the process that started it, so an intent can be claimed again,
 * first after ten seconds and then at growing intervals.
 */
export async function claimOrphaned(db: Db): Promise<OrphanedIntent[]> {
  const { rows } = await sql<
    Omit<OrphanedIntent, "changes"> & { refs: string[]; old_ids: string[]; new_ids: string[] }
  >`
    update pushes p
    set left_at = coalesce(p.left_at, now()),
      held_until = now() + interval '10 seconds' + (now() - coalesce(p.left_at, now())) / 2
    from (
      select id from pushes where held_until < now()
      order by held_until limit ${sql.lit(MAX_CLAIMED)} for update skip locked
    ) due
    where p.id = due.id
    returning p.id, p.repository_id, p.user_id, p.key_id, p.created_at, p.audit, p.refs, p.old_ids, p.new_ids,
      p.left_at <= now() - interval '10 minutes' as expired,
      exists (
        select from pushes o
        where o.repository_id = p.repository_id and o.id <> p.id and o.left_at is null and o.held_until > now()
          and o.refs && p.refs and o.old_ids && p.old_ids
      ) as contested`.execute(db);
  return rows.map(({ refs, old_ids, new_ids, ...row }) => ({
    ...row,
    changes: refs.map((ref, at) => ({ ref, oldId: old_ids[at] ?? "", newId: new_ids[at] ?? "" })),
  }));
}

const columnsOf = (changes: readonly RefChange[]) => ({
  refs: changes.map(({ ref }) => ref),
  old_ids: changes.map(({ oldId }) => oldId),
  new_ids: changes.map(({ newId }) => newId),
});
