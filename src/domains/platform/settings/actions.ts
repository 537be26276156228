import { isDeepStrictEqual } from "node:util";
import { sql, type Updateable } from "kysely";
import type { Static } from "typebox";
import { VISIBILITIES } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { isBranchName } from "#lib/branch-names.ts";
import { badFields, badParameter } from "#lib/refusal.ts";
import {
  ALSO_CALLED,
  type ApplicationSettings,
  CREATORS,
  LEVELS,
  presentSettings,
  SETTING_NAMES,
  type SettingName,
  type SettingsChanges,
} from "./entity.ts";

type Shown = Static<typeof ApplicationSettings>;
type Changes = Static<typeof SettingsChanges>;

/** Old and new values of settings, for the audit log. */
type Changed = Partial<Record<SettingName, { readonly from: unknown; readonly to: unknown }>>;

/** Changes only the settings that were sent; the row lock serializes concurrent changes. */
export async function changeSettings(
  tx: Tx,
  given: Changes,
  storages: readonly string[],
): Promise<{ settings: Shown; changed: Changed }> {
  const stored = await tx.selectFrom("settings").selectAll().forUpdate().executeTakeFirstOrThrow();
  const before = presentSettings(stored, storages);
  const changes = normalizeNames(given);
  refuseUnusable(changes, { ...before, ...changes }, storages);
  const row = await tx
    .updateTable("settings")
    .set({ ...columnsOf(changes), updated_at: sql<string>`now()` })
    .returningAll()
    .executeTakeFirstOrThrow();
  const settings = presentSettings(row, storages);
  return { settings, changed: changesBetween(before, settings) };
}

/** Renames settings that were sent by an alternative name. */
function normalizeNames(given: Changes): Pick<Changes, SettingName> {
  const changes: Record<string, unknown> = { ...given };
  for (const [other, name] of Object.entries(ALSO_CALLED)) {
    const value = changes[other];
    delete changes[other];
    if (value === undefined) continue;
    if (changes[name] !== undefined && changes[name] !== value) {
      throw badParameter(`${name}, ${other} are one setting: send one of them`);
    }
    changes[name] = value;
  }
  return changes;
}

function refuseUnusable(changes: Changes, settings: Shown, storages: readonly string[]) {
  const problems: Record<string, string[]> = {};
  const weights = changes.repository_storages_weighted;
  if (weights) {
    const unknown = Object.keys(weights).find((name) => !storages.includes(name));
    if (unknown !== undefined) {
      problems["repository_storages_weighted"] = [
        `${unknown} is no storage of this instance, which has: ${storages.join(", ")}`,
      ];
    } else if (!Object.values(weights).some((weight) => weight > 0)) {
      problems["repository_storages_weighted"] = ["give at least one storage a weight above 0"];
    }
  }
  for (const name of ["default_project_visibility", "default_group_visibility"] as const) {
    if (!settings.restricted_visibility_levels.includes(settings[name])) continue;
    problems[name] = [
      `${settings[name]} is restricted: choose another, or take it out of restricted_visibility_levels`,
    ];
  }
  if (!isBranchName(settings.default_branch_name)) {
    problems["default_branch_name"] = ["is no name that git takes for a branch"];
  }
  if (Object.keys(problems).length > 0) throw badFields(problems);
}

function columnsOf({
  default_group_visibility: group,
  default_project_visibility: project,
  default_project_creation: creation,
  restricted_visibility_levels: restricted,
  ...same
}: Pick<Changes, SettingName>): Updateable<Database["settings"]> {
  const creators = creation === undefined ? undefined : CREATORS[creation];
  return {
    ...same,
    ...(group && { default_group_visibility: VISIBILITIES[group] }),
    ...(project && { default_project_visibility: VISIBILITIES[project] }),
    ...(creators && { default_project_creation: creators }),
    ...(restricted && {
      restricted_visibility_levels: LEVELS.filter((level) => restricted.includes(level)).map(
        (level) => VISIBILITIES[level],
      ),
    }),
  };
}

function changesBetween(before: Shown, after: Shown): Changed {
  const changed: Changed = {};
  for (const name of SETTING_NAMES) {
    const [from, to] = [before[name], after[name]];
    if (!isDeepStrictEqual(from, to)) changed[name] = { from, to };
  }
  return changed;
}
