import { type Selectable, sql, type Updateable } from "kysely";
import type { Static } from "typebox";
import { LEVELS, VISIBILITIES, visibilityName } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { type Problems, refuse, throwProblems, tooLong } from "#lib/problems.ts";
import { missing } from "#lib/refusal.ts";
import { avatarColumns, checkAvatar } from "#resources/avatars/images.ts";
import { checkVisibility, holdPlace, type Place } from "#resources/namespaces/placement.ts";
import { checkGroupName, checkPath } from "#resources/namespaces/validate.ts";
import type { Writing } from "#resources/namespaces/writing.ts";
import type { GroupChanges, NewGroup } from "./params.ts";
import { chosenPreferences } from "./preferences.ts";

type New = Static<typeof NewGroup>;
type Changes = Omit<Static<typeof GroupChanges>, "id">;
type Columns = Updateable<Database["namespaces"]>;
type Row = Selectable<Database["namespaces"]>;

/** Makes a group with the caller as its Owner, and gives the new id. */
export async function createGroup(
  tx: Tx,
  given: New,
  place: Place | undefined,
  { actor, settings, blobs }: Writing,
): Promise<number> {
  const name = given.name.trim();
  const path = given.path.trim();
  const visibility = given.visibility
    ? VISIBILITIES[given.visibility]
    : Math.min(settings.default_group_visibility, place?.visibility ?? VISIBILITIES.public);
  const problems: Problems = {};
  checkGroupName(problems, name);
  checkPath(problems, path, place ? "below" : "top");
  checkVisibility(problems, visibility, place, { actor, settings });
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
      parent_id: place?.id ?? null,
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

/** Changes a group; what is not given stays. Returns the names of what was given anew. */
export async function updateGroup(
  tx: Tx,
  { id, parent_id }: { readonly id: number; readonly parent_id: number | null },
  given: Changes,
  { actor, settings, blobs }: Writing,
): Promise<string[]> {
  // The parent first, as whoever puts something into it locks it first.
  const place = parent_id === null ? undefined : await holdPlace(tx, parent_id);
  const group = await tx.selectFrom("namespaces").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
  if (!group) throw missing("Group");
  const name = given.name?.trim() ?? group.name;
  const path = given.path?.trim() ?? group.path;
  const visibility = given.visibility ? VISIBILITIES[given.visibility] : group.visibility;
  const problems: Problems = {};
  if (name !== group.name) checkGroupName(problems, name);
  if (path !== group.path) checkPath(problems, path, place ? "below" : "top");
  if (visibility !== group.visibility) checkVisibility(problems, visibility, place, { actor, settings });
  if (visibility < group.visibility) await checkWhatIsIn(tx, problems, group, visibility);
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

/** Nothing in a group may be left more visible than the group. */
async function checkWhatIsIn(tx: Tx, problems: Problems, { id }: Row, visibility: number) {
  const { rows } = await sql<{ groups: boolean; projects: boolean }>`select
    exists (select from namespaces where parent_id = ${id} and visibility > ${visibility}) as groups,
    exists (select from projects where namespace_id = ${id} and visibility > ${visibility}) as projects`.execute(tx);
  const found = [rows[0]?.groups && "subgroups", rows[0]?.projects && "projects"].filter(Boolean).join(" and ");
  if (found === "") return;
  const name = visibilityName(visibility);
  const text = `${name} is not allowed since this group contains ${found} with higher visibility. Change those first.`;
  refuse(problems, "visibility_level", text);
}

/** The columns that create and update share, checked. */
function checkedDetails(problems: Problems, given: Omit<Changes, "name" | "path" | "visibility">): Columns {
  const columns: Columns = {};
  if (given.description !== undefined) {
    columns.description = given.description ?? "";
    tooLong(problems, "description", columns.description, 500);
  }
  if (given.project_creation_level !== undefined) columns.project_creation_level = given.project_creation_level;
  if (given.subgroup_creation_level !== undefined) columns.subgroup_creation_level = given.subgroup_creation_level;
  if (given.avatar) checkAvatar(problems, given.avatar);
  return columns;
}

/** What is chosen, with the older name of one choice; the newer one wins. */
const preferencesFrom = ({ emails_disabled, ...given }: Changes | New): Record<string, unknown> =>
  chosenPreferences({ ...(emails_disabled !== undefined && { emails_enabled: !emails_disabled }), ...given });

/** Puts a group away with all that is in it, or takes it back. */
export const setArchived = (tx: Tx, id: number, archived: boolean) =>
  tx
    .updateTable("namespaces")
    .set({ archived, updated_at: sql<string>`now()` })
    .where("id", "=", id)
    .execute();
