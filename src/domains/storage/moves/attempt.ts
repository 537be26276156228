import { sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import { copyPath, type RepositoryName } from "#git/storages/storage.ts";
import type { Jobs } from "#jobs/add.ts";
import { repositoryCreation } from "#domains/storage/repositories/maintenance.ts";
import { repositoryRemoval } from "#domains/storage/repositories/removal.ts";
import { moveCleanup, type repositoryMove } from "./kinds.ts";
import { changeState } from "./state.ts";

/** Where a repository is. */
interface Location {
  readonly storage: string;
  readonly path: RepositoryName;
}

/** One attempt at a move: the holder of its lease, until the lease lapses or another attempt begins. */
export interface Attempt {
  readonly move_id: number;
  readonly attempt: number;
  readonly repository_id: number;
  readonly project_id: number | null;
  readonly snippet_id: number | null;
  readonly group_id: number | null;
  readonly source: Location;
  /** Where the copy is created. */
  readonly destination: Location;
  /** Whether anything was ever pushed, so that a repository without files has lost them. */
  readonly has_content: boolean;
}

export interface Progress {
  readonly phase: string;
  readonly bytes: number;
  readonly total_bytes: number | null;
}

/** Thrown when the lease has lapsed or another attempt holds it. */
export class LeaseLost extends Error {}

/** A move whose worker died this often would go on like that. */
export const MAX_ATTEMPTS = 10;
/** How long a repository stays read-only after its worker died. */
const LEASE = sql`interval '30 seconds'`;
/** Readers that opened the source before the switch finish first. */
const CLEANUP_DELAY_SECONDS = 30;
const MAX_ERROR_LENGTH = 256;

interface MoveRow {
  readonly id: number;
  readonly state: string;
  readonly attempt: number;
  readonly job_id: string | null;
  readonly repository_id: number;
  readonly project_id: number | null;
  readonly snippet_id: number | null;
  readonly group_id: number | null;
  readonly destination_storage: string;
  readonly storage: string;
  readonly disk_path: RepositoryName;
  readonly leased: boolean;
  readonly has_content: boolean;
}

const attempts = Array.from({ length: MAX_ATTEMPTS }, (_, at) => at + 1);
const copyOf = (move: MoveRow, attempt: number) => copyPath(move.disk_path, move.id, attempt);

/**
 * Starts a move, or takes over one whose worker died, and makes its repository read-only. Returns undefined if there is
 * nothing to do: the move has ended, its repository was deleted, or another job holds its lease.
 */
export async function startAttempt(
  tx: Tx,
  jobs: Jobs,
  { move_id, path, destination }: Static<typeof repositoryMove.payload>,
  jobId: string,
): Promise<Attempt | undefined> {
  const { rows } = await sql<MoveRow>`
    select m.id, m.state, m.attempt, m.job_id, m.repository_id, m.project_id, m.snippet_id, m.group_id,
      m.destination_storage, r.storage, r.disk_path, coalesce(r.read_only_until > now(), false) as leased,
      r.pushed_at is not null and r.beginning is null as has_content
    from repository_storage_moves m join repositories r on r.id = m.repository_id
    where m.id = ${move_id} for update of r, m`.execute(tx);
  const [move] = rows;
  if (!move) {
    const paths = attempts.map((attempt) => copyPath(path as RepositoryName, move_id, attempt));
    await jobs.add(tx, repositoryRemoval, { storage: destination, paths });
    return undefined;
  }
  if (move.state !== "scheduled" && move.state !== "started") return undefined;
  if (move.state === "started") {
    if (move.leased && move.job_id !== jobId) return undefined;
    await removeCopy(tx, jobs, { storage: move.destination_storage, path: copyOf(move, move.attempt) });
  }
  if (move.attempt === MAX_ATTEMPTS) {
    await endAttempt(tx, move, `The move was interrupted ${MAX_ATTEMPTS} times`);
    return undefined;
  }
  const attempt = move.attempt + 1;
  await changeState(
    tx,
    move.id,
    "started",
    sql`attempt = ${attempt}, job_id = ${jobId}, started_at = coalesce(started_at, now()), phase = 'waiting for pushes',
      bytes = 0, total_bytes = null`,
  );
  await sql`update repositories set read_only_until = clock_timestamp() + ${LEASE} where id = ${move.repository_id}`.execute(
    tx,
  );
  return {
    ...{ move_id: move.id, attempt, repository_id: move.repository_id },
    ...{ project_id: move.project_id, snippet_id: move.snippet_id, group_id: move.group_id },
    source: { storage: move.storage, path: move.disk_path },
    destination: { storage: move.destination_storage, path: copyOf(move, attempt) },
    has_content: move.has_content,
  };
}

/**
 * Locks the repository against pushes that are about to begin, and throws unless this attempt has held its lease without
 * a gap: a push that came in between would be lost.
 */
async function requireLease(tx: Tx, { move_id, attempt, repository_id }: Attempt) {
  await sql`select from repositories where id = ${repository_id} for update`.execute(tx);
  // A statement of its own, whose clock is read while the lock is held.
  const { rows } = await sql`
    select from repository_storage_moves m join repositories r on r.id = m.repository_id
    where m.id = ${move_id} and m.state = 'started' and m.attempt = ${attempt}
      and r.read_only_until > clock_timestamp()`.execute(tx);
  if (rows.length === 0) throw new LeaseLost("the lease of the move has lapsed");
}

/** Keeps the repository read-only, and records how far the attempt is. */
export async function renewLease(tx: Tx, attempt: Attempt, { phase, bytes, total_bytes }: Progress) {
  await requireLease(tx, attempt);
  await sql`
    update repositories set read_only_until = clock_timestamp() + ${LEASE}
    where id = ${attempt.repository_id}`.execute(tx);
  await sql`
    update repository_storage_moves set phase = ${phase}, bytes = ${bytes}, total_bytes = ${total_bytes}
    where id = ${attempt.move_id}`.execute(tx);
}

/** Points the repository to its copy and makes it writable, both at once, and queues the removal of the source. */
export async function switchRepository(tx: Tx, jobs: Jobs, attempt: Attempt) {
  const { move_id, repository_id, project_id, snippet_id, group_id, source, destination } = attempt;
  // In the order in which a deletion locks them.
  await sql`select from projects where id = ${project_id} for no key update`.execute(tx);
  await sql`select from snippets where id = ${snippet_id} for no key update`.execute(tx);
  await sql`select from namespaces where id = ${group_id} for no key update`.execute(tx);
  await requireLease(tx, attempt);
  await sql`
    update repositories set storage = ${destination.storage}, disk_path = ${destination.path}, read_only_until = null
    where id = ${repository_id}`.execute(tx);
  await sql`
    update projects p set repository_storage = ${destination.storage}, updated_at = now()
    from repositories r where r.id = ${repository_id} and p.id = r.project_id`.execute(tx);
  await changeState(tx, move_id, "replicated", sql`phase = 'removing the source'`);
  await jobs.add(tx, moveCleanup, { move_id, ...source }, { startAfter: CLEANUP_DELAY_SECONDS });
  // The default branch may have changed while the copy was made.
  await jobs.add(tx, repositoryCreation, { repository_id });
}

/** Ends an attempt for good: the repository is writable again, and nothing remains of the copy. */
export async function failAttempt(tx: Tx, jobs: Jobs, attempt: Attempt, reason: string) {
  const { rows } = await sql`
    select from repositories r where r.id = ${attempt.repository_id} for update`.execute(tx);
  const { rows: held } = await sql`
    select from repository_storage_moves
    where id = ${attempt.move_id} and state = 'started' and attempt = ${attempt.attempt}`.execute(tx);
  if (rows.length > 0 && held.length === 0) return;
  if (held.length > 0) await endAttempt(tx, { id: attempt.move_id, repository_id: attempt.repository_id }, reason);
  // Also if the repository was deleted meanwhile.
  await removeCopy(tx, jobs, attempt.destination);
}

async function endAttempt(tx: Tx, move: Pick<MoveRow, "id" | "repository_id">, reason: string) {
  await changeState(
    tx,
    move.id,
    "failed",
    sql`error_message = ${reason.slice(0, MAX_ERROR_LENGTH)}, finished_at = now()`,
  );
  await sql`update repositories set read_only_until = null where id = ${move.repository_id}`.execute(tx);
}

const removeCopy = (tx: Tx, jobs: Jobs, { storage, path }: Location) =>
  jobs.add(tx, repositoryRemoval, { storage, paths: [path] });
