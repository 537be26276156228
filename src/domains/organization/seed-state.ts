import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { LARGEST_GROUP } from "./seed-statements.ts";

interface SeedState {
  /** Whether a seed ran here, perhaps not to its end. */
  readonly seeded: boolean;
  /** What people made, such as `2 users and 1 group`; undefined on a new installation, which has only its first user. */
  readonly used: string | undefined;
}

/** Whether a database is empty enough for a seed. */
export async function readSeedState(db: Db): Promise<SeedState> {
  const { rows } = await sql<{ seeded: boolean; users: number; groups: number; projects: number }>`
    select
      exists (select from users where bio = 'Made-up person number 1')
        or exists (select from namespaces where kind = 'group' and parent_id is null and path = ${LARGEST_GROUP}) as seeded,
      (select count(*)::integer from users where id > 1 and user_type <> 'ghost') as users,
      (select count(*)::integer from namespaces where kind = 'group') as groups,
      (select count(*)::integer from projects) as projects`.execute(db);
  const { seeded = false, ...counts } = rows[0] ?? {};
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const texts = parts.map(([things, count]) => `${count} ${count === 1 ? things.slice(0, -1) : things}`);
  return { seeded, used: texts.length === 0 ? undefined : new Intl.ListFormat("en-GB").format(texts) };
}
