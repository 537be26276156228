import type { ClientConfig, FieldDef } from "pg";
import { unavailable } from "#lib/refusal.ts";
import { keepConnected, type Connection } from "./connection.ts";
import { isStalePlan, lostConnection } from "./errors.ts";
import { loader, type Lookup } from "./loader.ts";
import type { Log } from "./log.ts";
import type { StatementNames } from "./statements.ts";

/** Reads of a few rows by key over connections that all requests share; never a list or a write. */
export interface PointReads {
  query<Row>(text: string, values: unknown[]): Promise<Row[]>;
  /** Loads a row by key, batched with all keys requested in the same turn of the event loop. */
  load<Key extends string | number, Row>(lookup: Lookup<Key, Row>, key: Key): Promise<Row | undefined>;
}

export interface PointConnections extends PointReads {
  close(): Promise<void>;
}

type MakeRow = (values: unknown[]) => unknown;

/** Compiles a function that builds rows, once per statement; the driver's generic one is slower for many columns. */
function makeRowMaker(columns: string[]): MakeRow {
  const fields = columns.map((column, index) => `${JSON.stringify(column)}: values[${index}]`);
  // oxlint-disable-next-line typescript/no-implied-eval -- the names are those of our own statements, and quoted
  return new Function("values", `return { ${fields.join(", ")} };`) as MakeRow;
}

export function openPointConnections(
  config: ClientConfig,
  size: number,
  names: StatementNames,
  log: Log,
): PointConnections {
  const connections = Array.from({ length: size }, () => keepConnected(config, log));
  const rowMakers = new Map<string, MakeRow>();
  const loads = new Map<unknown, unknown>();
  let turn = 0;

  function choose(): Connection {
    for (let tried = 0; tried < size; tried++) {
      const connection = connections[turn++ % size];
      if (connection?.usable()) return connection;
    }
    throw unavailable();
  }

  function rowMakerOf(name: string | undefined, fields: FieldDef[]): MakeRow {
    const known = name === undefined ? undefined : rowMakers.get(name);
    if (known) return known;
    const maker = makeRowMaker(fields.map((field) => field.name));
    if (name !== undefined) rowMakers.set(name, maker);
    return maker;
  }

  async function query<Row>(text: string, values: unknown[], retried = false): Promise<Row[]> {
    const connection = choose();
    const client = connection.client();
    const name = names.of(text);
    try {
      const { fields, rows } = await client.query<unknown[]>({ name, text, values, rowMode: "array" });
      return rows.map(rowMakerOf(name, fields)) as Row[];
    } catch (error) {
      if (lostConnection(error)) connection.drop(client);
      else if (isStalePlan(error)) names.renew(text, name);
      else throw error;
      if (retried) throw error;
      return query(text, values, true);
    }
  }

  return {
    query: (text, values) => query(text, values),
    load<Key extends string | number, Row>(lookup: Lookup<Key, Row>, key: Key) {
      let load = loads.get(lookup) as ((key: Key) => Promise<Row | undefined>) | undefined;
      if (!load) loads.set(lookup, (load = loader({ query }, lookup)));
      return load(key);
    },
    async close() {
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}
