import { AsyncLocalStorage } from "node:async_hooks";
import { BACKGROUND, type Consumer } from "#lib/consumer.ts";

/** What connections are taken for: a request, a job or a command. */
interface Work {
  /** Who is charged for the connections; asked when one is taken, since a request learns it on the way. */
  consumer(): Consumer;
  /** Whether nothing is written, so that connections with a shorter timeout will do for an anonymous caller. */
  readonly reads: boolean;
  /** The transaction that this part of the work is in. */
  readonly transaction?: { open: boolean };
}

/** Jobs, commands and timers. */
const OWN: Work = { consumer: () => BACKGROUND, reads: false };

export type CurrentWork = ReturnType<typeof currentWork>;

/** Knows on whose behalf the code runs, across `await`. */
export function currentWork() {
  const storage = new AsyncLocalStorage<Work>();
  const current = () => storage.getStore() ?? OWN;
  return {
    current,
    inTransaction: () => current().transaction?.open === true,
    run: <T>(work: Omit<Work, "transaction">, inner: () => T): T => storage.run(work, inner),
    async runInTransaction<T>(inner: () => Promise<T>): Promise<T> {
      const transaction = { open: true };
      try {
        return await storage.run({ ...current(), transaction }, inner);
      } finally {
        transaction.open = false;
      }
    },
  };
}
