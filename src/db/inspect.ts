import { Client } from "pg";
import { pendingMigrations } from "./migrate.ts";
import { partitionsAhead } from "./partitions.ts";
import { connectionConfig } from "./sessions.ts";

export interface Inspection {
  readonly version: string;
  readonly pending: readonly string[];
  readonly shortOfPartitions: readonly string[];
  readonly administrators: number;
}

/** What a database says of itself, without changing anything in it. */
export async function inspectDatabase(url: string): Promise<Inspection> {
  const client = new Client(connectionConfig({ url, statementTimeout: 5000, lockTimeout: 1000 }));
  client.on("error", () => {});
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string }>("select current_setting('server_version') as version");
    const version = rows[0]?.version ?? "";
    const pending = await pendingMigrations(client);
    if (pending.length > 0) return { version, pending, shortOfPartitions: [], administrators: 0 };
    const short = (await partitionsAhead(client)).filter(({ enough }) => !enough).map(({ table }) => table);
    const admins = await client.query("select 1 from users where admin and state = 'active' limit 1");
    return { version, pending, shortOfPartitions: short, administrators: admins.rows.length };
  } finally {
    await client.end();
  }
}
