import Type, { type Static, type TSchema } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";

const choice = <S extends TSchema>(schema: S, fallback: Static<S>) => ({ schema, fallback });
const on = choice(Type.Boolean(), true);
const off = choice(Type.Boolean(), false);
const unset = choice(Nullable(Type.Boolean()), null);

/** What owners choose and clients read back, with what it is where nobody chose. */
const PREFERENCES = {
  share_with_group_lock: off,
  require_two_factor_authentication: off,
  two_factor_grace_period: choice(Type.Integer({ minimum: 0, maximum: 8760 }), 48),
  auto_devops_enabled: unset,
  emails_enabled: on,
  mentions_disabled: unset,
  lfs_enabled: on,
  default_branch: choice(Nullable(Type.String({ maxLength: 255 })), null),
  default_branch_protection: choice(Type.Integer({ minimum: 0, maximum: 4 }), 2),
  request_access_enabled: on,
  shared_runners_setting: choice(
    Type.Enum(["enabled", "disabled_and_overridable", "disabled_and_unoverridable"]),
    "enabled",
  ),
  membership_lock: off,
  prevent_sharing_groups_outside_hierarchy: off,
  prevent_forking_outside_group: unset,
  wiki_access_level: choice(Type.Enum(["disabled", "private", "enabled"]), "enabled"),
  math_rendering_limits_enabled: on,
  lock_math_rendering_limits_enabled: off,
};

type Name = keyof typeof PREFERENCES;
const NAMES = Object.keys(PREFERENCES) as Name[];

/** The fields of an answer that show them all. */
export const preferenceFields = Object.fromEntries(NAMES.map((name) => [name, PREFERENCES[name].schema])) as {
  [N in Name]: (typeof PREFERENCES)[N]["schema"];
};

const AllFields = Type.Object(preferenceFields);
const SomeFields = Type.Partial(AllFields);

/** The parameters that set them, each of which may be left out. */
export const preferenceParams = SomeFields.properties;

export type Preferences = Static<typeof AllFields>;
export type ChosenPreferences = Static<typeof SomeFields>;

/** Everything chosen and, where nothing was, what then counts. */
export function presentPreferences(stored: unknown): Preferences {
  const chosen = stored as Record<string, unknown>;
  return Object.fromEntries(NAMES.map((name) => [name, chosen[name] ?? PREFERENCES[name].fallback])) as Preferences;
}

/** What is to be stored of what was given. */
export const chosenPreferences = (given: ChosenPreferences): Record<string, unknown> =>
  Object.fromEntries(NAMES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
