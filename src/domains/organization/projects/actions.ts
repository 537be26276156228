import { type Insertable, sql } from "kysely";
import type { Static } from "typebox";
import { isAdministrator } from "#access/principal.ts";
import { hasRole, type ProjectSeen } from "#access/containers.ts";
import { VISIBILITIES } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { isBranchName } from "#lib/branch-names.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { avatarColumns, checkAvatar } from "#domains/foundation/avatars/images.ts";
import { recordEvent } from "#domains/foundation/events/record.ts";
import { checkVisibility, lockNamespace } from "#domains/foundation/namespaces/placement.ts";
import { checkPath, checkProjectName } from "#domains/foundation/namespaces/validate.ts";
import type { ContainerWriteContext } from "#domains/foundation/namespaces/write-context.ts";
import { drawStorage } from "#domains/storage/storages/weights.ts";
import type { NewProject, ProjectChanges } from "./params.ts";
import { ensureOwner, lockTarget, refuseTakenPath, type Target } from "./target.ts";
import { chosenPreferences } from "./preferences.ts";

type ProjectFields = Static<typeof NewProject>;
type Changes = Static<typeof ProjectChanges>;
type Columns = Partial<Insertable<Database["projects"]>>;

/** Creates a project in a namespace and returns its id. */
export async function createProject(
  tx: Tx,
  given: ProjectFields,
  target: Target,
  creatorId: number,
  { actor, settings, blobs }: ContainerWriteContext,
  storages: readonly string[],
): Promise<number> {
  const namespace = await lockTarget(tx, actor, target);
  const name = (given.name ?? given.path ?? "").trim();
  const path = given.path?.trim() ?? slug(name);
  // The default visibility is capped at that of the group.
  const visibility = given.visibility
    ? VISIBILITIES[given.visibility]
    : Math.min(settings.default_project_visibility, namespace.visibility);

  const problems: Problems = {};
  checkProjectName(problems, name);
  checkPath(problems, path, "below");
  checkVisibility(problems, visibility, namespace, { actor, settings });
  const columns = checkedColumns(problems, given);
  const wanted = isAdministrator(actor) ? given.repository_storage : undefined;
  if (wanted !== undefined && !storages.includes(wanted)) {
    refuse(problems, "repository_storage", "is not included in the list");
  }
  throwProblems(problems);
  await refuseTakenPath(tx, namespace.id, path);

  const chosen = chosenPreferences(given);
  const { id } = await tx
    .insertInto("projects")
    .values({
      default_branch: settings.default_branch_name,
      repository_storage: wanted ?? drawStorage(settings, storages),
      ...columns,
      ...(await avatarColumns(given.avatar, blobs)),
      ...chosen.columns,
      preferences: chosen.preferences,
      namespace_id: namespace.id,
      creator_id: creatorId,
      name,
      path,
      visibility,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await ensureOwner(tx, id, namespace);
  await recordEvent(tx, creatorId, "created", { project_id: id });
  return id;
}

/** Changes the given fields of a project; returns the names of the columns that were written. */
export async function updateProject(
  tx: Tx,
  project: ProjectSeen,
  given: Changes,
  { actor, settings, blobs }: ContainerWriteContext,
): Promise<string[]> {
  const row = await lockedProject(tx, project.id);
  const name = given.name?.trim() ?? row.name;
  const path = given.path?.trim() ?? row.path;
  const visibility = given.visibility ? VISIBILITIES[given.visibility] : row.visibility;
  if ((path !== row.path || visibility !== row.visibility) && !hasRole(actor, project, "owner"))
    throw forbidden("Changing path or visibility requires the Owner role in the project");

  const problems: Problems = {};
  if (name !== row.name) checkProjectName(problems, name);
  if (path !== row.path) checkPath(problems, path, "below");
  if (visibility !== row.visibility) {
    checkVisibility(problems, visibility, await lockNamespace(tx, row.namespace_id), { actor, settings });
  }
  const columns = checkedColumns(problems, given);
  throwProblems(problems);
  if (path.toLowerCase() !== row.path.toLowerCase()) await refuseTakenPath(tx, row.namespace_id, path);

  const { columns: chosen, preferences } = chosenPreferences(given);
  const changes: Columns = {
    ...columns,
    ...chosen,
    ...(await avatarColumns(given.avatar, blobs)),
    ...(Object.keys(preferences).length > 0 && { preferences: { ...(row.preferences as object), ...preferences } }),
    ...(name !== row.name && { name }),
    ...(path !== row.path && { path }),
    ...(visibility !== row.visibility && { visibility }),
  };
  if (Object.keys(changes).length > 0) {
    await tx
      .updateTable("projects")
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where("id", "=", row.id)
      .execute();
  }
  return Object.keys(changes);
}

/** Reads and locks a project's row. */
export async function lockedProject(tx: Tx, id: number) {
  const row = await tx.selectFrom("projects").selectAll().where("id", "=", id).forNoKeyUpdate().executeTakeFirst();
  if (!row) throw missing("Project");
  return row;
}

/** Checks the columns that create and update share. */
function checkedColumns(problems: Problems, given: Omit<Changes, "id">): Columns {
  const columns: Columns = {};
  if (given.description !== undefined) columns.description = given.description ?? "";
  const topics = given.topics ?? given.tag_list;
  if (topics !== undefined) columns.topics = distinct(topics);
  if (given.default_branch !== undefined) {
    columns.default_branch = given.default_branch;
    if (!isBranchName(given.default_branch))
      refuse(problems, "default_branch", "is no name that git takes for a branch");
  }
  if (given.avatar) checkAvatar(problems, given.avatar);
  return columns;
}

/** Removes topics that repeat an earlier one in any case. */
function distinct(topics: readonly string[]): string[] {
  const names = topics.map((topic) => topic.trim()).filter((name) => name !== "");
  const small = names.map((name) => name.toLowerCase());
  return names.filter((_, at) => small.indexOf(small[at] ?? "") === at);
}

/** Derives a path from a name: lower-case ASCII letters and digits, with dashes between words. */
const slug = (name: string) =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9_]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
