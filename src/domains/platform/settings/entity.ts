import Type, { type Static } from "typebox";
import { VISIBILITIES, type Visibility, visibilityName } from "#access/roles.ts";
import type { InstanceSettings } from "#db/settings.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { weightsOf } from "#domains/storage/storages/weights.ts";

export const LEVELS = Object.keys(VISIBILITIES) as Visibility[];
/** Clients send and read who may create projects as the index in this list. */
export const CREATORS = ["noone", "maintainer", "developer", "administrator", "owner"] as const;

/** Every setting of the instance, as on the wire. */
export const SETTINGS = {
  allow_local_requests_from_web_hooks_and_services: Type.Boolean({
    description: "Whether to connect to private, loopback and link-local addresses that users configure",
  }),
  anonymous_user_listing: Type.Enum(["all", "username", "off"], {
    description:
      "Which users anonymous callers may list, with their keys, status, projects and avatar: all, one by its exact username, or none",
  }),
  can_create_group: Type.Boolean({ description: "Whether new users may create top-level groups" }),
  default_branch_name: Type.String({ minLength: 1, maxLength: 255, description: "Default branch of new projects" }),
  default_group_visibility: Type.Enum(LEVELS, { description: "Visibility of new groups" }),
  default_project_creation: Type.Integer({
    minimum: 0,
    maximum: CREATORS.length - 1,
    description:
      "Who may create projects in new groups: 0 nobody, 1 maintainers, 2 developers, 3 administrators, 4 owners",
  }),
  default_project_visibility: Type.Enum(LEVELS, { description: "Visibility of new projects" }),
  default_projects_limit: Type.Integer({
    minimum: 0,
    maximum: 2 ** 31 - 1,
    description: "How many personal projects a new user may have",
  }),
  default_theme_id: Type.Integer({ minimum: 1, maximum: 11, description: "Colour theme of new users" }),
  deletion_adjourned_period: Type.Integer({
    minimum: 0,
    maximum: 90,
    description: "Days in which a deleted group or project can be restored",
  }),
  email_confirmation: Type.Enum(["off", "hard"], {
    description: "Whether a new address counts only once it is confirmed",
  }),
  generic_alert_fingerprinting: Type.Boolean({
    description: "Whether generic alerts without a fingerprint are distinguished by their payload",
  }),
  group_service_accounts_limit: Type.Integer({
    minimum: 0,
    maximum: 2 ** 31 - 1,
    description: "How many service accounts the Owners of a top-level group may create; 0 is no limit",
  }),
  password_minimum_length: Type.Integer({ minimum: 8, maximum: 128, description: "Minimum length of a password" }),
  prevent_blocking_cycles: Type.Boolean({
    description: "Whether a link is refused that would close a circle of issues or epics that block each other",
  }),
  push_action_names: Type.Enum(["plain", "detailed"], {
    description: "The name of pushes in events: `pushed`, or `pushed to`, `pushed new` and `deleted`",
  }),
  repository_storages_weighted: Type.Record(Type.String(), Type.Integer({ minimum: 0, maximum: 100 }), {
    description: "How often each storage is chosen for a new repository, as a share of the sum",
  }),
  require_token_expiry: Type.Boolean({
    description: "Whether a rotated token expires after a week by default, or after the longest period allowed",
  }),
  restricted_visibility_levels: Type.Array(Type.Enum(LEVELS), {
    maxItems: LEVELS.length,
    description: "Visibilities that only administrators may set",
  }),
  service_accounts_by_owners: Nullable(
    Type.Boolean({
      description: "Whether Owners may manage service accounts of their group; with null the offering decides",
    }),
  ),
  user_defaults_to_private_profile: Type.Boolean({ description: "Whether the profiles of new users are private" }),
  user_storage_limit_bytes: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description:
      "How many bytes the repositories of all projects, group wikis and snippets that one user created may take " +
      "together; 0 is no limit",
  }),
};

export type SettingName = keyof typeof SETTINGS;
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** Alternative names of some settings; responses contain both, and requests may use either. */
export const ALSO_CALLED = {
  allow_top_level_group_owners_to_create_service_accounts: "service_accounts_by_owners",
  email_confirmation_setting: "email_confirmation",
  minimum_password_length: "password_minimum_length",
  require_personal_access_token_expiry: "require_token_expiry",
} as const satisfies Record<string, SettingName>;

const named = {
  ...SETTINGS,
  allow_top_level_group_owners_to_create_service_accounts: SETTINGS.service_accounts_by_owners,
  email_confirmation_setting: SETTINGS.email_confirmation,
  minimum_password_length: SETTINGS.password_minimum_length,
  require_personal_access_token_expiry: SETTINGS.require_token_expiry,
};

export const ApplicationSettings = Type.Object(
  { ...named, updated_at: Type.String({ format: "date-time" }) },
  { additionalProperties: false, title: "ApplicationSettings" },
);
export const SettingsChanges = Type.Partial(Type.Object(named));

/** Presents the settings of an instance that has these storages. */
export const presentSettings = (
  row: InstanceSettings,
  storages: readonly string[],
): Static<typeof ApplicationSettings> => ({
  allow_local_requests_from_web_hooks_and_services: row.allow_local_requests_from_web_hooks_and_services,
  anonymous_user_listing: row.anonymous_user_listing,
  can_create_group: row.can_create_group,
  default_branch_name: row.default_branch_name,
  default_group_visibility: visibilityName(row.default_group_visibility),
  default_project_creation: CREATORS.indexOf(row.default_project_creation),
  default_project_visibility: visibilityName(row.default_project_visibility),
  default_projects_limit: row.default_projects_limit,
  default_theme_id: row.default_theme_id,
  deletion_adjourned_period: row.deletion_adjourned_period,
  email_confirmation: row.email_confirmation,
  generic_alert_fingerprinting: row.generic_alert_fingerprinting,
  group_service_accounts_limit: row.group_service_accounts_limit,
  password_minimum_length: row.password_minimum_length,
  prevent_blocking_cycles: row.prevent_blocking_cycles,
  push_action_names: row.push_action_names,
  repository_storages_weighted: weightsOf(row, storages),
  require_token_expiry: row.require_token_expiry,
  restricted_visibility_levels: row.restricted_visibility_levels.map(visibilityName),
  service_accounts_by_owners: row.service_accounts_by_owners,
  user_defaults_to_private_profile: row.user_defaults_to_private_profile,
  user_storage_limit_bytes: row.user_storage_limit_bytes,
  allow_top_level_group_owners_to_create_service_accounts: row.service_accounts_by_owners,
  email_confirmation_setting: row.email_confirmation,
  minimum_password_length: row.password_minimum_length,
  require_personal_access_token_expiry: row.require_token_expiry,
  updated_at: row.updated_at,
});
