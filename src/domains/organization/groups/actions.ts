import { type Selectable, sql, type Updateable } from "kysely";
import type { Static } from "typebox";
import { LEVELS, VISIBILITIES, visibilityName } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { checkLength, type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { missing } from "#lib/refusal.ts";
import { avatarColumns, checkAvatar } from "#domains/foundation/avatars/images.ts";
import { checkVisibility, lockNamespace, type TargetNamespace } from "#domains/foundation/namespaces/placement.ts";
import { checkGroupName, checkPath } from "#domains/foundation/namespaces/validate.ts";
import type { ContainerWriteContext } from "#domains/foundation/namespaces/write-context.ts";
import type { GroupChanges, NewGroup } from "./params.ts";
import { chosenPreferences } from "./preferences.ts";

type GroupFields = Static<typeof NewGroup>;
type Changes = Omit<Static<typeof GroupChanges>, "id">;
type Columns = Updateable<Database["namespaces"]>;
type Row = Selectable<Database["namespaces"]>;

/** Creates a group with the caller as its Owner and returns its id. */
export async function createGroup(
  tx: Tx,
  given: GroupFields,
  parent: TargetNamespace | undefined,
  { actor, settings, blobs }: ContainerWriteContext,
): Promise<number> {
  const name = given.name.trim();
  const path = given.path.trim();
  const visibility = given.visibility
    ? VISIBILITIES[given.visibility]
    : Math.min(settings.default_group_visibility, parent?.visibility ?? VISIBILITIES.public);
  const problems: Problems = {};
  checkGroupName(problems, name);
  checkPath(problems, path, parent ? "below" : "top");
  checkVisibility(problems, visibility, parent, { actor, settings });
  const details = checkedDetails(problems, given);
  throwProblems(problems);

  const { id } = await tx
    .insertInto("namespaces")
    .values({
      project_creation_level: settings.default_project_creation,
      ...details,
      ...(await avatarColumns(given.avatar, blobs)),
      preferences: preferencesFrom(given),
      kind: "group",
      parent_id: parent?.id ?? null,
      name,
      path,
      visibility,
      creator_id: actor.user.id,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await tx
    .insertInto("members")
    .values({ group_id: id, user_id: actor.user.id, access_level: LEVELS.owner, created_by_id: actor.user.id })
    .execute();
  return id;
}

/** Changes the given fields of a group; returns the names of the columns and preferences that were written. */
export async function updateGroup(
  tx: Tx,
  { id, parent_id }: { readonly id: number; readonly parent_id: number | null },
  given: Changes,
  { actor, settings, blobs }: ContainerWriteContext,
): Promise<string[]> {
  // The parent is locked first, in the same order as when something is created in it.
  const parent = parent_id === null ? undefined : await lockNamespace(tx, parent_id);
  const group = await tx.selectFrom("namespaces").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
  if (!group) throw missing("Group");
  const name = given.name?.trim() ?? group.name;
  const path = given.path?.trim() ?? group.path;
  const visibility = given.visibility ? VISIBILITIES[given.visibility] : group.visibility;
  const problems: Problems = {};
  if (name !== group.name) checkGroupName(problems, name);
  if (path !== group.path) checkPath(problems, path, parent ? "below" : "top");
  if (visibility !== group.visibility) checkVisibility(problems, visibility, parent, { actor, settings });
  if (visibility < group.visibility) await checkContent(tx, problems, group, visibility);
  const details = checkedDetails(problems, given);
  throwProblems(problems);

  const changes: Columns = {
    ...details,
    ...(await avatarColumns(given.avatar, blobs)),
    ...(name !== group.name && { name }),
    ...(path !== group.path && { path }),
    ...(visibility !== group.visibility && { visibility }),
  };
  const preferences = preferencesFrom(given);
  await tx
    .updateTable("namespaces")
    .set({
      ...changes,
      preferences: sql`preferences || ${JSON.stringify(preferences)}::jsonb`,
      updated_at: sql<string>`now()`,
    })
    .where("id", "=", id)
    .execute();
  return [...Object.keys(changes), ...Object.keys(preferences)];
}

/** Refuses a visibility below that of a subgroup or project in the group. */
async function checkContent(tx: Tx, problems: Problems, { id }: Row, visibility: number) {
  const { rows } = await sql<{ groups: boolean; projects: boolean }>`select
    exists (select from namespaces where parent_id = ${id} and visibility > ${visibility}) as groups,
    exists (select from projects where namespace_id = ${id} and visibility > ${visibility}) as projects`.execute(tx);
  const found = [rows[0]?.groups && "subgroups", rows[0]?.projects && "projects"].filter(Boolean).join(" and ");
  if (found === "") return;
  const name = visibilityName(visibility);
  const text = `${name} is not allowed since this group contains ${found} with higher visibility. Change those first.`;
  refuse(problems, "visibility_level", text);
}

/** Checks the columns that create and update share. */
function checkedDetails(problems: Problems, given: Omit<Changes, "name" | "path" | "visibility">): Columns {
  const columns: Columns = {};
  if (given.description !== undefined) {
    columns.description = given.description ?? "";
    checkLength(problems, "description", columns.description, 500);
  }
  if (given.project_creation_level !== undefined) columns.project_creation_level = given.project_creation_level;
  if (given.subgroup_creation_level !== undefined) columns.subgroup_creation_level = given.subgroup_creation_level;
  if (given.avatar) checkAvatar(problems, given.avatar);
  return columns;
}

/** The given preferences; `emails_enabled` wins over the deprecated `emails_disabled`. */
const preferencesFrom = ({ emails_disabled, ...given }: Changes | GroupFields): Record<string, unknown> =>
  chosenPreferences({ ...(emails_disabled !== undefined && { emails_enabled: !emails_disabled }), ...given });

/** Archives or unarchives a group with everything in it. */
export const setArchived = (tx: Tx, id: number, archived: boolean) =>
  tx
    .updateTable("namespaces")
    .set({ archived, updated_at: sql<string>`now()` })
    .where("id", "=", id)
    .execute();
