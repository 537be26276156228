import { sql } from "kysely";
import type { Tx } from "#db/database.ts";

// The trigger that sets a new group's traversal ids takes the same lock.
const TREE = sql.lit(7219352002);

/** Keeps groups from being moved until the transaction ends; take it before locking any row of the tree. */
export const lockTreeShared = (tx: Tx) => sql`select pg_advisory_xact_lock_shared(${TREE})`.execute(tx);

/** Gives this transaction the exclusive right to move groups. */
export const lockTree = (tx: Tx) => sql`select pg_advisory_xact_lock(${TREE})`.execute(tx);
