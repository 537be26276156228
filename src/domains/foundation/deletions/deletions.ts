import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";

/**
 * What becomes of a row that names a deleted user, group, project or repository. The database cascades or sets null;
 * our code removes rows first, in batches where there may be many, or moves them to the ghost user.
 */
export type Outcome = "cascade" | "set null" | "removed first" | "moved to the ghost user" | "kept";

/** A user who is being deleted. */
export interface DeletedUser {
  readonly id: number;
  readonly namespace_id: number;
  /** Who owns what the user created: the ghost user, or nobody in a hard delete. */
  readonly newOwnerId: number | null;
}

/** What a batch may need besides its transaction. */
export interface DeletionContext {
  readonly jobs: Jobs;
  readonly deletions: Deletions;
}

/** Removes or hands over some rows and returns how many; it is called until it finds none. */
export type UserBatch = (tx: Tx, user: DeletedUser, context: DeletionContext) => Promise<number>;
/** The same for rows of groups or projects, by their ids. */
export type Batch = (tx: Tx, ids: readonly number[], context: Pick<DeletionContext, "jobs">) => Promise<number>;

/** What a domain does with its rows when a user, group or project is deleted. */
export interface Deletions {
  /**
   * Columns, as `table.column`, that hold the id of a user, namespace, project or repository. A foreign key to one of
   * these that neither a domain nor a contract names fails `src/domains/deletions.test.ts`.
   */
  readonly columns: Readonly<Record<string, Outcome>>;
  readonly ofUser?: readonly UserBatch[];
  readonly ofGroups?: readonly Batch[];
  readonly ofProjects?: readonly Batch[];
}

/** Runs the batches in order until one removes rows; returns how many, so 0 means that none remain. */
export async function removeBatchOfRows(
  tx: Tx,
  ids: readonly number[],
  batches: readonly Batch[] = [],
  context: Pick<DeletionContext, "jobs">,
): Promise<number> {
  for (const batch of batches) {
    const removed = await batch(tx, ids, context);
    if (removed > 0) return removed;
  }
  return 0;
}

/** The deletions of several domains as one, in their order. */
export const mergeDeletions = (domains: readonly Deletions[]): Required<Deletions> => ({
  columns: Object.assign({}, ...domains.map(({ columns }) => columns)) as Deletions["columns"],
  ofUser: domains.flatMap(({ ofUser = [] }) => ofUser),
  ofGroups: domains.flatMap(({ ofGroups = [] }) => ofGroups),
  ofProjects: domains.flatMap(({ ofProjects = [] }) => ofProjects),
});
