import type { ClientConfig } from "pg";
import { unavailable } from "#lib/refusal.ts";
import { type Connection, keepConnected } from "./connection.ts";
import { isLockTimeout, isRefusedRow, isStalePlan, lostConnection, worthRetrying } from "./errors.ts";
import type { Log } from "./log.ts";
import type { StatementNames } from "./statements.ts";

/** Runs the one statement of a batch. */
export type RunStatement = <Row>(text: string, values: unknown[]) => Promise<Row[]>;

/** A write of many rows with one statement; rows that arrive while it runs are written together by the next one. */
export interface BatchedWrite<Row, Result> {
  readonly maxRows: number;
  /** Of the rows that wait, those of one owner and all together. */
  readonly maxWaiting: { readonly rows: Limits; readonly bytes: Limits };
  owner(row: Row): number;
  bytes(row: Row): number;
  /** Rows with one key are written in their order, and in one statement only as long as they have the same action. */
  keyOf(row: Row): { readonly key: string; readonly action: string };
  /** Writes rows, all of them or none, and returns the result of each. */
  write(run: RunStatement, rows: readonly Row[]): Promise<readonly Result[]>;
}

interface Limits {
  readonly each: number;
  readonly all: number;
}

export interface Batches {
  write<Row, Result>(batched: BatchedWrite<Row, Result>, row: Row): Promise<Result>;
  close(): Promise<void>;
}

/** Writes in batches over one connection of their own, which is opened for the first. */
export function openBatches(config: ClientConfig, names: StatementNames, log: Log): Batches {
  const writers = new Map<unknown, unknown>();
  let opened: Connection | undefined;

  const run: RunStatement = async <Row>(text: string, values: unknown[]) => {
    opened ??= keepConnected(config, log);
    if (!opened.usable()) throw unavailable();
    const client = opened.client();
    try {
      return (await client.query({ name: names.of(text), text, values })).rows as Row[];
    } catch (error) {
      if (lostConnection(error)) opened.drop(client);
      else if (isStalePlan(error)) names.renew(text, names.of(text));
      // The rows of many callers wait for it, so it is nobody's conflict.
      else if (isLockTimeout(error)) throw unavailable();
      throw error;
    }
  };

  return {
    write<Row, Result>(batched: BatchedWrite<Row, Result>, row: Row) {
      let write = writers.get(batched) as ((row: Row) => Promise<Result>) | undefined;
      if (!write) writers.set(batched, (write = writer(batched, run)));
      return write(row);
    },
    async close() {
      await opened?.close();
    },
  };
}

interface Waiting<Row, Result> extends PromiseWithResolvers<Result> {
  readonly row: Row;
}

function writer<Row, Result>(batched: BatchedWrite<Row, Result>, run: RunStatement): (row: Row) => Promise<Result> {
  const room = waitingRoom(batched);
  let waiting: Waiting<Row, Result>[] = [];
  let isWriting = false;

  async function writeAll() {
    isWriting = true;
    while (waiting.length > 0) {
      const { batch, rest } = nextBatch(batched, waiting);
      waiting = rest;
      await writeBatch(batched, run, batch);
      for (const { row } of batch) room.leave(row);
    }
    isWriting = false;
  }

  return (row) => {
    if (!room.enter(row)) return Promise.reject(unavailable());
    const entry = { row, ...Promise.withResolvers<Result>() };
    waiting.push(entry);
    if (!isWriting) void writeAll();
    return entry.promise;
  };
}

/** Counts the rows that wait or are being written, so that neither memory nor the wait grows without bound. */
function waitingRoom<Row>({
  maxWaiting,
  owner,
  bytes,
}: Pick<BatchedWrite<Row, unknown>, "maxWaiting" | "owner" | "bytes">) {
  const held = new Map<number, { rows: number; bytes: number }>();
  const total = { rows: 0, bytes: 0 };
  return {
    enter(row: Row): boolean {
      const own = held.get(owner(row)) ?? { rows: 0, bytes: 0 };
      const size = bytes(row);
      const { rows: maxRows, bytes: maxBytes } = maxWaiting;
      if (own.rows + 1 > maxRows.each || total.rows + 1 > maxRows.all) return false;
      // A row of any size fits an empty room.
      if (own.rows > 0 && own.bytes + size > maxBytes.each) return false;
      if (total.rows > 0 && total.bytes + size > maxBytes.all) return false;
      held.set(owner(row), { rows: own.rows + 1, bytes: own.bytes + size });
      total.rows++;
      total.bytes += size;
      return true;
    },
    leave(row: Row) {
      const own = held.get(owner(row));
      if (!own) return;
      if (own.rows === 1) held.delete(owner(row));
      else held.set(owner(row), { rows: own.rows - 1, bytes: own.bytes - bytes(row) });
      total.rows--;
      total.bytes -= bytes(row);
    },
  };
}

/** The rows of the next statement, in their order; a row stays behind if an earlier one of its key does. */
function nextBatch<Row, Result>(
  { maxRows, keyOf }: BatchedWrite<Row, Result>,
  waiting: readonly Waiting<Row, Result>[],
) {
  const actions = new Map<string, string>();
  const behind = new Set<string>();
  const batch: Waiting<Row, Result>[] = [];
  const rest: Waiting<Row, Result>[] = [];
  for (const entry of waiting) {
    const { key, action } = keyOf(entry.row);
    const fits = batch.length < maxRows && !behind.has(key) && (actions.get(key) ?? action) === action;
    if (fits) {
      actions.set(key, action);
      batch.push(entry);
    } else {
      behind.add(key);
      rest.push(entry);
    }
  }
  return { batch, rest };
}

const MAX_ATTEMPTS = 3;

async function writeBatch<Row, Result>(
  batched: BatchedWrite<Row, Result>,
  run: RunStatement,
  batch: readonly Waiting<Row, Result>[],
  attempt = 1,
): Promise<void> {
  try {
    const results = await batched.write(
      run,
      batch.map(({ row }) => row),
    );
    for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result);
  } catch (error) {
    if (attempt < MAX_ATTEMPTS && (worthRetrying(error) || isStalePlan(error)))
      return writeBatch(batched, run, batch, attempt + 1);
    // One row that the database refuses must not fail the others.
    if (batch.length > 1 && isRefusedRow(error)) for (const entry of batch) await writeBatch(batched, run, [entry]);
    else for (const { reject } of batch) reject(error);
  }
}
