import type { PointReads } from "./point.ts";

/** How keys are sent to PostgreSQL: as one array parameter. */
export interface KeyType<Key> {
  /** Whether PostgreSQL accepts the key; an invalid one must not fail the rest of its batch. */
  isValid(key: Key): boolean;
  encode(keys: Key[]): unknown;
}

/** For `id = any($1::bigint[])`. */
export const bigints: KeyType<number> = {
  isValid: Number.isSafeInteger,
  encode: (keys) => `{${keys.join(",")}}`,
};

/** For `lower(path) = any($1::text[])`. */
export const texts: KeyType<string> = {
  isValid: (key) => !key.includes("\0"),
  encode: (keys) => keys,
};

/** For `digest = any($1::bytea[])`, keys in lower-case hex; joining the text beats the driver's arrays of buffers. */
export const digests: KeyType<string> = {
  isValid: (key) => /^(?:[0-9a-f]{2})+$/.test(key),
  encode: (keys) => `{"\\\\x${keys.join('","\\\\x')}"}`,
};

/** A statement that finds at most one row for each key of its one parameter. */
export interface Lookup<Key extends string | number, Row> {
  readonly text: string;
  readonly keys: KeyType<Key>;
  /** The key that a row was found by, spelled as the caller spells it. */
  key(row: Row): Key;
  /** Keys of one statement; fewer for those that take longer, so that none holds up its connection. */
  readonly maxKeys?: number;
}

const MAX_IN_FLIGHT = 2;
const MAX_KEYS = 500;

/** Batches the keys requested in one turn of the event loop, or while two batches are in flight, into one statement. */
export function loader<Key extends string | number, Row>(
  point: Pick<PointReads, "query">,
  { text, keys, key: keyOf, maxKeys = MAX_KEYS }: Lookup<Key, Row>,
): (key: Key) => Promise<Row | undefined> {
  type Batch = Map<Key, PromiseWithResolvers<Row | undefined>>;
  let waiting: Batch = new Map();
  let inFlight = 0;
  let scheduled = false;

  function schedule() {
    if (scheduled || inFlight === MAX_IN_FLIGHT || waiting.size === 0) return;
    scheduled = true;
    setImmediate(send);
  }

  function send() {
    scheduled = false;
    const batch = take();
    inFlight++;
    void read(batch).finally(() => {
      inFlight--;
      // These keys have already waited for a batch to end, so they are sent without waiting for another turn.
      if (waiting.size > 0 && !scheduled) send();
    });
    schedule();
  }

  function take(): Batch {
    const all = waiting;
    waiting = new Map();
    if (all.size <= maxKeys) return all;
    const entries = [...all];
    waiting = new Map(entries.slice(maxKeys));
    return new Map(entries.slice(0, maxKeys));
  }

  async function read(batch: Batch) {
    try {
      const rows = await point.query<Row>(text, [keys.encode([...batch.keys()])]);
      for (const row of rows) batch.get(keyOf(row))?.resolve(row);
      for (const caller of batch.values()) caller.resolve(undefined);
    } catch (error) {
      for (const caller of batch.values()) caller.reject(error);
    }
  }

  return function load(key) {
    const joined = waiting.get(key);
    if (joined) return joined.promise;
    if (!keys.isValid(key)) return Promise.resolve(undefined);
    const caller = Promise.withResolvers<Row | undefined>();
    waiting.set(key, caller);
    schedule();
    return caller.promise;
  };
}
