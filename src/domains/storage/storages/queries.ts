import { sql } from "kysely";
import type { Static } from "typebox";
import type { Databases, Db } from "#db/database.ts";
import type { Storage } from "#git/storages/storage.ts";
import type { Services } from "#services.ts";
import type { StorageView } from "./entity.ts";
import { storageNames, weightsOf } from "./weights.ts";

const MAX_COUNT = 10_000;

/** The storages that this process is configured for, in their order. */
export async function storageViews(
  db: Db,
  databases: Databases,
  { git }: Pick<Services, "git">,
): Promise<Static<typeof StorageView>[]> {
  const names = storageNames(git);
  const settings = await databases.write.selectFrom("settings").selectAll().executeTakeFirstOrThrow();
  const weights = weightsOf(settings, names);
  const counts = new Map((await countsOf(db, names)).map((row) => [row.name, row]));
  return Promise.all(
    git.storages.map(async (storage) => ({
      name: storage.name,
      weight: weights[storage.name] ?? 0,
      ...(await stateOf(storage)),
      repositories_count: counts.get(storage.name)?.repositories ?? 0,
      moves_count: counts.get(storage.name)?.moves ?? 0,
    })),
  );
}

async function stateOf(storage: Storage) {
  try {
    await storage.probe();
    return { healthy: true, ...(await storage.space()) };
  } catch {
    return { healthy: false, free_bytes: null, total_bytes: null };
  }
}

async function countsOf(db: Db, names: readonly string[]) {
  const { rows } = await sql<{ name: string; repositories: number; moves: number }>`
    select name,
      (select count(*) from (
        select from repositories where storage = name limit ${sql.lit(MAX_COUNT)}) few)::int as repositories,
      (select count(*) from (
        select from repository_storage_moves
        where state in ('scheduled', 'started') and source_storage = name limit ${sql.lit(MAX_COUNT)}) few)::int as moves
    from unnest(${names}::text[]) name`.execute(db);
  return rows;
}
