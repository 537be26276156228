import { sql } from "kysely";
import type { Tx } from "#db/database.ts";

// The trigger that places a new group takes the same lock.
const TREE = sql.lit(7219352002);

/** Keeps the ancestors of every group as they are until the transaction ends; taken before a row of it is locked. */
export const holdTree = (tx: Tx) => sql`select pg_advisory_xact_lock_shared(${TREE})`.execute(tx);

/** Lets one transaction alone move groups, until it ends. */
export const holdTreeAlone = (tx: Tx) => sql`select pg_advisory_xact_lock(${TREE})`.execute(tx);
