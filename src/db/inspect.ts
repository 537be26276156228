import { Client } from "pg";
import { readHistory } from "./migration-history.ts";
import { partitionsAhead } from "./partitions.ts";
import { connectionConfig } from "./sessions.ts";

export interface Inspection {
  readonly version: string;
  readonly pending: readonly string[];
  /** Migrations of a later version. */
  readonly newer: readonly string[];
  readonly shortOfPartitions: readonly string[];
  readonly administrators: number;
}

/** What must be true of a server before anything is done on it. */
export interface ServerFacts {
  readonly version: string;
  readonly encoding: string;
}

/** Connects once; throws what the driver says if that is impossible. */
export async function inspectServer(url: string): Promise<ServerFacts> {
  const client = new Client(connectionConfig({ url, statementTimeout: 5000, lockTimeout: 1000 }));
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<ServerFacts>(
      "select current_setting('server_version') as version, current_setting('server_encoding') as encoding",
    );
    return rows[0] ?? { version: "", encoding: "" };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Reads the state of a database without changing it. */
export async function inspectDatabase(url: string): Promise<Inspection> {
  const client = new Client(connectionConfig({ url, statementTimeout: 5000, lockTimeout: 1000 }));
  client.on("error", () => {});
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string }>("select current_setting('server_version') as version");
    const version = rows[0]?.version ?? "";
    const { pending, newer } = await readHistory(client);
    if (pending.length > 0) return { version, pending, newer, shortOfPartitions: [], administrators: 0 };
    const short = (await partitionsAhead(client)).filter(({ enough }) => !enough).map(({ table }) => table);
    const admins = await client.query("select 1 from users where admin and state = 'active' limit 1");
    return { version, pending, newer, shortOfPartitions: short, administrators: admins.rows.length };
  } finally {
    await client.end();
  }
}
