import Type, { type Static, type TSchema } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { preferencesOf } from "#domains/foundation/namespaces/preferences.ts";

const choice = <S extends TSchema>(schema: S, fallback: Static<S>) => ({ schema, fallback });
const on = choice(Type.Boolean(), true);
const off = choice(Type.Boolean(), false);
const unset = choice(Nullable(Type.Boolean()), null);

/** Values that Owners set and clients read back, with their defaults. */
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

const { fields, present, chosen } = preferencesOf(PREFERENCES);

export const preferenceFields = fields;
/** The optional parameters that set them. */
export const preferenceParams = Type.Partial(Type.Object(fields)).properties;

/** The stored values; switches of what this release does not have read false. */
export const presentPreferences = (stored: unknown) => ({
  ...present(stored),
  lfs_enabled: false,
  request_access_enabled: false,
});
export const chosenPreferences = chosen;
