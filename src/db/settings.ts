import type { Selectable } from "kysely";
import type { Databases } from "./database.ts";
import type { Database } from "./types.ts";

export type InstanceSettings = Selectable<Database["settings"]>;

/** The settings of the instance, at most a second old. */
export interface Settings {
  current(): Promise<InstanceSettings>;
}

const MAX_AGE_MS = 1000;

export function cachedSettings(db: Databases, now: () => number = Date.now): Settings {
  let read: Promise<InstanceSettings> | undefined;
  let readAt = 0;
  return {
    current() {
      if (read && now() - readAt < MAX_AGE_MS) return read;
      readAt = now();
      const fresh = readSettings(db);
      // A failed read is not cached.
      fresh.catch(() => (read = undefined));
      return (read = fresh);
    },
  };
}

// Writes read settings inside their transaction; taking a second connection from a full pool would deadlock.
async function readSettings(db: Databases): Promise<InstanceSettings> {
  const [row] = await db.point.query<InstanceSettings>("select * from settings", []);
  if (!row) throw new Error("the settings row is missing");
  return row;
}
