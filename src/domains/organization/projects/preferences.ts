import { FEATURE_ACCESS, FEATURE_COLUMNS, type FeatureLevels } from "#access/features.ts";
import Type, { type Static, type TBoolean } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { preferencesOf } from "#domains/foundation/namespaces/preferences.ts";

const on = { schema: Type.Boolean(), fallback: true };
const off = { schema: Type.Boolean(), fallback: false };
const text = (maxLength: number) => ({ schema: Nullable(Type.String({ maxLength })), fallback: null });
const number = (fallback: number, minimum: number, maximum: number) => ({
  schema: Type.Integer({ minimum, maximum }),
  fallback,
});
const oneOf = <const Word extends string>(words: readonly Word[], fallback: Word) => ({
  schema: Type.Enum(words),
  fallback,
});
const openTo = (fallback: "private" | "enabled" = "enabled") => oneOf(FEATURE_ACCESS, fallback);
/** A preference with a column of its own, which is never null and so needs no default here. */
const feature = { schema: Type.Enum(FEATURE_ACCESS), fallback: undefined };

/** Values that maintainers set and clients read back, with their defaults. */
const PREFERENCES = {
  analytics_access_level: openTo(),
  builds_access_level: openTo(),
  container_registry_access_level: openTo(),
  environments_access_level: openTo(),
  feature_flags_access_level: openTo(),
  forking_access_level: openTo(),
  infrastructure_access_level: openTo(),
  issues_access_level: feature,
  merge_requests_access_level: feature,
  model_experiments_access_level: openTo(),
  model_registry_access_level: openTo(),
  monitor_access_level: feature,
  pages_access_level: oneOf(["disabled", "private", "enabled", "public"], "private"),
  releases_access_level: openTo(),
  repository_access_level: feature,
  requirements_access_level: openTo(),
  security_and_compliance_access_level: feature,
  snippets_access_level: feature,
  wiki_access_level: feature,

  allow_merge_on_skipped_pipeline: off,
  auto_cancel_pending_pipelines: oneOf(["enabled", "disabled"], "enabled"),
  auto_devops_enabled: off,
  autoclose_referenced_issues: on,
  build_git_strategy: oneOf(["fetch", "clone"], "fetch"),
  build_timeout: number(3600, 600, 2_592_000),
  ci_config_path: text(255),
  ci_default_git_depth: number(20, 0, 1000),
  ci_forward_deployment_enabled: on,
  emails_enabled: on,
  group_runners_enabled: on,
  issues_template: text(65_536),
  keep_latest_artifact: on,
  lfs_enabled: on,
  merge_commit_template: text(500),
  merge_method: oneOf(["merge", "rebase_merge", "ff"], "merge"),
  merge_requests_template: text(65_536),
  only_allow_merge_if_all_discussions_are_resolved: off,
  only_allow_merge_if_pipeline_succeeds: off,
  packages_enabled: on,
  printing_merge_request_link_enabled: on,
  public_jobs: on,
  remove_source_branch_after_merge: on,
  request_access_enabled: on,
  resolve_outdated_diff_discussions: off,
  service_desk_enabled: off,
  shared_runners_enabled: on,
  squash_commit_template: text(500),
  squash_option: oneOf(["never", "always", "default_on", "default_off"], "default_off"),
  suggestion_commit_message: text(255),
};

/** The deprecated boolean names of access levels. */
const SWITCHES = {
  container_registry_enabled: "container_registry_access_level",
  issues_enabled: "issues_access_level",
  jobs_enabled: "builds_access_level",
  merge_requests_enabled: "merge_requests_access_level",
  security_and_compliance_enabled: "security_and_compliance_access_level",
  snippets_enabled: "snippets_access_level",
  wiki_enabled: "wiki_access_level",
} as const satisfies Record<string, Name>;

/**
 * Switches of what this release does not have. They read false, so that no client looks for it; what is chosen is stored
 * all the same, and counts once the feature is there.
 */
const ABSENT: readonly (Name | Switch)[] = [
  "auto_devops_enabled",
  "ci_forward_deployment_enabled",
  "container_registry_enabled",
  "group_runners_enabled",
  "jobs_enabled",
  "lfs_enabled",
  "merge_requests_enabled",
  "packages_enabled",
  "printing_merge_request_link_enabled",
  "request_access_enabled",
  "security_and_compliance_enabled",
  "service_desk_enabled",
  "shared_runners_enabled",
  "snippets_enabled",
  "wiki_enabled",
];

type Name = keyof typeof PREFERENCES;
type Switch = keyof typeof SWITCHES;
const SWITCH_NAMES = Object.keys(SWITCHES) as Switch[];
const { fields, present, chosen } = preferencesOf(PREFERENCES);

/** Preferences that SQL filters by have columns of the same names. */
const COLUMNS = FEATURE_COLUMNS satisfies readonly Name[];
export const preferenceColumns = COLUMNS.map((name) => `p.${name}` as const);
type Stored = FeatureLevels & { readonly preferences: unknown; readonly listed: boolean };

/** Texts as long as a file. A list would repeat them for each of a hundred projects, so only a single project has them. */
export const LONG_PREFERENCES = ["issues_template", "merge_requests_template"] as const satisfies readonly Name[];

/** The response fields for all preferences. */
export const preferenceFields = {
  ...fields,
  issues_template: Type.Optional(fields.issues_template),
  merge_requests_template: Type.Optional(fields.merge_requests_template),
  ...(Object.fromEntries(SWITCH_NAMES.map((name) => [name, Type.Boolean()])) as { [S in Switch]: TBoolean }),
};

const AllFields = Type.Object(preferenceFields);
const SomeFields = Type.Partial(AllFields);

/** The optional parameters that set them. */
export const preferenceParams = SomeFields.properties;

export type Preferences = Static<typeof AllFields>;
export type ChosenPreferences = Static<typeof SomeFields>;

/** The stored values, with defaults for those that were never set. */
export function presentPreferences(row: Stored): Preferences {
  const shown: Record<string, unknown> = present({ ...(row.preferences as object), ...picked(row) });
  for (const name of SWITCH_NAMES) shown[name] = shown[SWITCHES[name]] !== "disabled";
  for (const name of ABSENT) shown[name] = false;
  if (row.listed) for (const name of LONG_PREFERENCES) delete shown[name];
  return shown as Preferences;
}

const picked = (from: object): Partial<FeatureLevels> =>
  Object.fromEntries(Object.entries(from).filter(([name]) => COLUMNS.some((column) => column === name)));

/** Splits given preferences by where they are stored; the current name wins over the deprecated one. */
export function chosenPreferences(given: ChosenPreferences) {
  const switched: Record<string, unknown> = {};
  for (const name of SWITCH_NAMES) {
    if (given[name] !== undefined) switched[SWITCHES[name]] = given[name] ? "enabled" : "disabled";
  }
  const all = { ...switched, ...chosen(given) };
  const columns = picked(all);
  const preferences = Object.fromEntries(Object.entries(all).filter(([name]) => !(name in columns)));
  return { columns, preferences };
}
