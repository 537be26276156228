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

/** What a setting was and is, for the audit log. */
type Changed = Partial<Record<SettingName, { readonly from: unknown; readonly to: unknown }>>;

/** Changes the settings that are given and no others; two callers at once do it one after the other. */
export async function changeSettings(
  tx: Tx,
  given: Changes,
  storages: readonly string[],
): Promise<{ settings: Shown; changed: Changed }> {
  const kept = await tx.selectFrom("settings").selectAll().forUpdate().executeTakeFirstOrThrow();
  const before = presentSettings(kept, storages);
  const wanted = byOneName(given);
  refuseUnusable(wanted, { ...before, ...wanted }, storages);
  const row = await tx
    .updateTable("settings")
    .set({ ...columnsOf(wanted), updated_at: sql<string>`now()` })
    .returningAll()
    .executeTakeFirstOrThrow();
  const settings = presentSettings(row, storages);
  return { settings, changed: changesBetween(before, settings) };
}

/** A setting that came by its other name, by its own. */
function byOneName(given: Changes): Pick<Changes, SettingName> {
  const wanted: Record<string, unknown> = { ...given };
  for (const [other, name] of Object.entries(ALSO_CALLED)) {
    const value = wanted[other];
    delete wanted[other];
    if (value === undefined) continue;
    if (wanted[name] !== undefined && wanted[name] !== value) {
      throw badParameter(`${name}, ${other} are one setting: send one of them`);
    }
    wanted[name] = value;
  }
  return wanted;
}

function refuseUnusable(wanted: Changes, settings: Shown, storages: readonly string[]) {
  const problems: Record<string, string[]> = {};
  const weights = wanted.repository_storages_weighted;
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
