import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Repository, RepositoryName } from "#git/storages/storage.ts";
import { type OwnedLocation, repositoryAt, repositoryLocations } from "#domains/storage/repositories/location.ts";
import type { Services } from "#services.ts";
import { bad, type Finding, good } from "./findings.ts";
import { problemOf } from "./problems.ts";

/** The oldest git that has every option in use. */
const OLDEST = [2, 38] as const;
const SHOWN = 5;
const AT_ONCE = 10_000;

type Looking = Pick<Services, "git" | "db">;

/** Checks git and the storages of this installation. */
export async function checkGit({ git }: Pick<Services, "git">): Promise<Finding[]> {
  const version = await checkVersion(git);
  const memory = version.good ? [await checkMemory(git)] : [];
  return [version, ...memory, ...(await Promise.all(git.storages.map(checkStorage)))];
}

async function checkMemory(git: Services["git"]): Promise<Finding> {
  if (await git.limitsMemory()) return good("The memory of git is limited");
  return bad("The memory of git cannot be limited on this system, so one diff may exhaust it; run on Linux");
}

async function checkVersion(git: Services["git"]): Promise<Finding> {
  try {
    const version = await git.version();
    const [major = 0, minor = 0] = version.split(".").map(Number);
    const [least, lesser] = OLDEST;
    if (major > least || (major === least && minor >= lesser)) return good(`git ${version}`);
    return bad(`git ${version} is too old; git ${OLDEST.join(".")} or newer is needed`);
  } catch (error) {
    return bad(`git cannot be run (${problemOf(error)}); install it in a directory of PATH`);
  }
}

async function checkStorage(storage: Services["git"]["storages"][number]): Promise<Finding> {
  try {
    await storage.probe();
    return good(`Storage ${storage.name}`);
  } catch (error) {
    return bad(`The storage ${storage.name} cannot be written (${problemOf(error)}); check FAIRLEAD_STORAGES`);
  }
}

/** Checks that every repository belongs to something, and that everything that was pushed to has its repository. */
export async function checkRepositories({ git, db }: Looking): Promise<Finding[]> {
  const found = new Map<string, Set<RepositoryName>>();
  for (const storage of git.storages) found.set(storage.name, new Set(await Array.fromAsync(storage.repositories())));
  const elsewhere = new Map<string, number>();
  const candidates: { owner: string; repository: Repository }[] = [];
  for await (const row of storedRepositories(db.read)) {
    const names = found.get(row.repository_storage);
    if (!names) elsewhere.set(row.repository_storage, (elsewhere.get(row.repository_storage) ?? 0) + 1);
    else if (!names.delete(row.repository_path as RepositoryName) && row.pushed) {
      candidates.push({ owner: ownerOf(row), repository: repositoryAt({ git }, row) });
    }
  }
  // Repositories that are queued for removal no longer belong to anything, and copies of running moves not yet.
  for (const { storage, path } of await transientPaths(db.read)) found.get(storage)?.delete(path as RepositoryName);
  const nobodys = [...found].flatMap(([storage, names]) => [...names].map((name) => `${storage} ${name}`));
  const lost: string[] = [];
  // It may have been created since its storage was scanned.
  for (const { owner, repository } of candidates) if (!(await repository.exists())) lost.push(owner);
  return [
    nobodys.length === 0
      ? good("Every repository belongs to something")
      : bad(`Repositories that belong to nothing: ${some(nobodys)}; check whether they are needed, then remove them`),
    lost.length === 0
      ? good("Whatever was pushed to has its repository")
      : bad(`Pushed to, but the repository is gone: ${some(lost)}; restore it from a backup`),
    ...[...elsewhere].map(([storage, repositories]) =>
      bad(`Repositories on the unknown storage ${storage}: ${repositories}; add it to FAIRLEAD_STORAGES`),
    ),
  ];
}

const some = (names: readonly string[]) =>
  `${names.length} (${names.slice(0, SHOWN).join(", ")}${names.length > SHOWN ? ", …" : ""})`;

function ownerOf({ project_id, snippet_id, wiki_project_id, wiki_group_id }: OwnedLocation) {
  if (project_id !== null) return `project ${project_id}`;
  if (snippet_id !== null) return `snippet ${snippet_id}`;
  return wiki_project_id === null ? `wiki of group ${wiki_group_id}` : `wiki of project ${wiki_project_id}`;
}

async function* storedRepositories(db: Db) {
  for (let after = 0; ;) {
    const rows = await repositoryLocations(db)
      // One with a first commit waiting is created on its first use.
      .select(sql<boolean>`r.pushed_at is not null and r.beginning is null`.as("pushed"))
      .where("r.id", ">", after)
      .orderBy("r.id")
      .limit(sql.lit(AT_ONCE))
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < AT_ONCE) return;
    after = last.repository_id;
  }
}

/** What jobs are about to remove or to put in its place. */
async function transientPaths(db: Db) {
  const { rows } = await sql<{ storage: string; path: string }>`
    select data->'payload'->>'storage' as storage, path
    from jobs.job, jsonb_array_elements_text(data->'payload'->'paths') path
    where data->>'job' = 'repositories.remove_paths'
    union all
    select data->'payload'->>'storage', data->'payload'->>'path' from jobs.job
    where data->>'job' = 'storage_moves.clean_up'
    union all
    select m.destination_storage, regexp_replace(r.disk_path, '-\\d+-\\d+$', '') || '-' || m.id || '-' || m.attempt
    from repository_storage_moves m join repositories r on r.id = m.repository_id where m.state = 'started'
    union all
    select data->'payload'->>'storage', project_repository_path(project_id::bigint)
    from jobs.job, jsonb_array_elements_text(data->'payload'->'project_ids') project_id
    where data->>'job' = 'repositories.remove'`.execute(db);
  return rows;
}
