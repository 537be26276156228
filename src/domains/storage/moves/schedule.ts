import { type RawBuilder, sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import type { InstanceSettings } from "#db/settings.ts";
import type { Git } from "#git/storages/open.ts";
import { badFields, badParameter, missing } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { drawStorage, storageNames } from "#domains/storage/storages/weights.ts";
import { repositoryMove, type storageEvacuation } from "./kinds.ts";

/** A repository that a move is about. */
interface Moving {
  readonly id: number;
  readonly project_id: number | null;
  readonly snippet_id: number | null;
  readonly group_id: number | null;
  readonly storage: string;
  readonly disk_path: string;
}

/** The column of moves that names the owner, and the repositories of all owners of a kind. */
export const OWNERS = {
  project: { column: "project_id", repositories: sql`(project_id is not null or wiki_project_id is not null)` },
  snippet: { column: "snippet_id", repositories: sql`snippet_id is not null` },
  group: { column: "group_id", repositories: sql`wiki_group_id is not null` },
} as const;
export type Owner = keyof typeof OWNERS;

interface MoveRequest {
  readonly owner: Owner;
  readonly repositoryId: number;
  /** Drawn by weight if left out. */
  readonly destination: string | undefined;
}

/** Schedules the move of one repository and returns the id of the move. */
export async function scheduleMove(
  tx: Tx,
  { git, jobs }: Pick<Services, "git" | "jobs">,
  settings: InstanceSettings,
  { owner, repositoryId, destination }: MoveRequest,
): Promise<number> {
  const [repository] = await lockRepositories(tx, sql`id = ${repositoryId}`);
  if (!repository) throw missing("Repository");
  const refuse = (reason: string) => badFields({ destination_storage_name: [reason] });
  if (destination !== undefined && !storageNames(git).includes(destination))
    throw refuse("is not included in the list");
  if (destination !== undefined && (await isSameStorage(git, repository.storage, destination))) {
    throw refuse(`is the storage that the ${owner} is already on`);
  }
  const moving = await movingAmong(tx, [repository]);
  if (moving.has(repository.id)) throw badFields({ [owner]: ["is read-only"] });
  const others = storageNames(git).filter((name) => name !== repository.storage);
  if (others.length === 0) throw refuse("cannot be chosen, since there is only one storage");
  const chosen = destination ?? drawStorage(settings, others);
  const move = await insertMove(tx, jobs, repository, chosen);
  await moveWikiAlong(tx, jobs, repository, chosen);
  return move;
}

/** Schedules a move for the wiki of a project whose code moves. */
async function moveWikiAlong(tx: Tx, jobs: Services["jobs"], { project_id }: Moving, destination: string) {
  const wikis = await lockRepositories(tx, sql`wiki_project_id = ${project_id} and storage <> ${destination}`);
  const moving = await movingAmong(tx, wikis);
  for (const wiki of wikis) if (!moving.has(wiki.id)) await insertMove(tx, jobs, wiki, destination);
}

async function lockRepositories(tx: Tx, condition: RawBuilder<unknown>): Promise<Moving[]> {
  const { rows } = await sql<Moving>`
    select id, coalesce(project_id, wiki_project_id) as project_id, snippet_id, wiki_group_id as group_id, storage,
      disk_path
    from repositories where ${condition} order by id for update`.execute(tx);
  return rows;
}

/** Those of some repositories that have a move already. They are locked, so no other request schedules one meanwhile. */
async function movingAmong(tx: Tx, repositories: readonly Moving[]): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ repository_id: number }>`
    select repository_id from repository_storage_moves
    where repository_id = any(${repositories.map(({ id }) => id)}::bigint[])
      and state in ('scheduled', 'started')`.execute(tx);
  return new Set(rows.map(({ repository_id }) => repository_id));
}

async function insertMove(tx: Tx, jobs: Services["jobs"], repository: Moving, destination: string) {
  const { rows } = await sql<{ id: number }>`
    insert into repository_storage_moves
      (repository_id, project_id, snippet_id, group_id, state, source_storage, destination_storage)
    values (${repository.id}, ${repository.project_id}, ${repository.snippet_id}, ${repository.group_id}, 'scheduled',
      ${repository.storage}, ${destination})
    returning id`.execute(tx);
  const move_id = rows[0]?.id ?? 0;
  await jobs.add(tx, repositoryMove, { move_id, path: repository.disk_path, destination });
  return move_id;
}

/** Refuses the names of storages between which nothing can be moved. */
export async function checkEvacuation(git: Git, source: string, destination: string | undefined) {
  const names = storageNames(git);
  const refuse = (name: string) => badParameter(`${name} does not have a valid value`);
  if (!names.includes(source)) throw refuse("source_storage_name");
  if (destination === undefined ? names.length === 1 : !names.includes(destination)) {
    throw refuse("destination_storage_name");
  }
  if (destination !== undefined && (await isSameStorage(git, source, destination))) {
    throw refuse("destination_storage_name");
  }
}

/** Whether two names lead to the same directory, which a link or a second name can do. */
async function isSameStorage(git: Git, one: string, other: string) {
  if (one === other) return true;
  const identity = (name: string) =>
    git.storages
      .find((storage) => storage.name === name)
      ?.identity()
      .catch(() => name);
  return (await identity(one)) === (await identity(other));
}

const BATCH = 100;

/**
 * Schedules moves for the next repositories of a storage that have none yet. Returns the last id, or undefined after the
 * last batch.
 */
export async function scheduleBatch(
  tx: Tx,
  { git, jobs }: Pick<Services, "git" | "jobs">,
  settings: InstanceSettings,
  { owner, source, destination }: Static<typeof storageEvacuation.payload>,
  after: number,
): Promise<number | undefined> {
  const others = storageNames(git).filter((name) => name !== source);
  if (others.length === 0) return undefined;
  const repositories = await lockRepositories(
    tx,
    sql`id in (
      select id from repositories
      where storage = ${source} and id > ${after} and ${OWNERS[owner as Owner].repositories}
      order by id limit ${sql.lit(BATCH)})`,
  );
  const moving = await movingAmong(tx, repositories);
  for (const repository of repositories) {
    if (moving.has(repository.id) || repository.storage !== source) continue;
    await insertMove(tx, jobs, repository, destination ?? drawStorage(settings, others));
  }
  return repositories.length === 0 ? undefined : Math.max(...repositories.map(({ id }) => id));
}
