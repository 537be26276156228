import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { projectRepository, type Repository, type RepositoryName } from "#git/storages/storage.ts";
import type { Services } from "#services.ts";
import { bad, type Finding, good, problemOf } from "./findings.ts";

/** What is used of git came with this version. */
const OLDEST = [2, 38] as const;
const SHOWN = 5;
const AT_ONCE = 10_000;

type Looking = Pick<Services, "git" | "db">;

/** Whether git and the storages of this installation can be used. */
export async function checkGit({ git }: Pick<Services, "git">): Promise<Finding[]> {
  const version = await checkVersion(git);
  const memory = version.good ? [await checkMemory(git)] : [];
  return [version, ...memory, ...(await Promise.all(git.storages.map(checkStorage)))];
}

async function checkMemory(git: Services["git"]): Promise<Finding> {
  if (await git.limitsMemory()) return good("The memory of git is limited");
  return bad("The memory of git cannot be limited on this system, so that one diff may take all of it; run on Linux");
}

async function checkVersion(git: Services["git"]): Promise<Finding> {
  try {
    const version = await git.version();
    const [major = 0, minor = 0] = version.split(".").map(Number);
    const [least, lesser] = OLDEST;
    if (major > least || (major === least && minor >= lesser)) return good(`git ${version}`);
    return bad(`git ${version} is too old; git ${OLDEST.join(".")} or newer is needed`);
  } catch (error) {
    return bad(`git cannot be run (${problemOf(error)}); install it where PATH leads`);
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

/** Whether every repository has its project, and every project that was pushed to its repository. */
export async function checkRepositories({ git, db }: Looking): Promise<Finding[]> {
  const found = new Map<string, Set<RepositoryName>>();
  for (const storage of git.storages) found.set(storage.name, new Set(await Array.fromAsync(storage.repositories())));
  const elsewhere = new Map<string, number>();
  const candidates: { id: number; repository: Repository }[] = [];
  for await (const project of projectsOf(db.read)) {
    const names = found.get(project.repository_storage);
    const name = projectRepository(project.id);
    if (!names) elsewhere.set(project.repository_storage, (elsewhere.get(project.repository_storage) ?? 0) + 1);
    else if (!names.delete(name) && project.pushed) {
      candidates.push({ id: project.id, repository: git.storage(project.repository_storage).repository(name) });
    }
  }
  // What waits to be removed is nobody's, and that is known.
  for (const { storage, id } of await removalsIn(db.read)) found.get(storage)?.delete(projectRepository(id));
  const nobodys = [...found].flatMap(([storage, names]) => [...names].map((name) => `${storage} ${name}`));
  const lost: string[] = [];
  // It may have been made since its storage was looked through.
  for (const { id, repository } of candidates) if (!(await repository.exists())) lost.push(`project ${id}`);
  return [
    nobodys.length === 0
      ? good("Every repository has a project")
      : bad(`Repositories without a project: ${some(nobodys)}; look whether they are needed, then remove them`),
    lost.length === 0
      ? good("Every project that was pushed to has its repository")
      : bad(`Projects whose repository is gone: ${some(lost)}; restore it from a backup`),
    ...[...elsewhere].map(([storage, projects]) =>
      bad(`Projects on the storage ${storage}, which is not there: ${projects}; name it in FAIRLEAD_STORAGES`),
    ),
  ];
}

const some = (names: readonly string[]) =>
  `${names.length} (${names.slice(0, SHOWN).join(", ")}${names.length > SHOWN ? ", …" : ""})`;

async function* projectsOf(db: Db) {
  for (let after = 0; ;) {
    const rows = await db
      .selectFrom("projects as p")
      .leftJoin("repositories as r", "r.project_id", "p.id")
      .select([
        "p.id",
        "p.repository_storage",
        // One with a beginning is made when it is first used.
        sql<boolean>`coalesce(r.pushed_at is not null and r.beginning is null, false)`.as("pushed"),
      ])
      .where("p.id", ">", after)
      .orderBy("p.id")
      .limit(sql.lit(AT_ONCE))
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < AT_ONCE) return;
    after = last.id;
  }
}

async function removalsIn(db: Db) {
  const { rows } = await sql<{ storage: string; id: number }>`
    select data->'payload'->>'storage' as storage, gone::bigint as id
    from jobs.job, jsonb_array_elements_text(data->'payload'->'project_ids') gone
    where data->>'job' = 'repositories.remove'`.execute(db);
  return rows;
}
