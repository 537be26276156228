import type { Databases } from "#db/database.ts";
import { BACKGROUND } from "#lib/consumer.ts";

/** Runs work as another process would: not in the transaction that the test holds meanwhile. */
export const elsewhere = <T>(db: Databases, work: () => T): T =>
  db.onBehalfOf({ consumer: () => BACKGROUND, reads: false }, work);
