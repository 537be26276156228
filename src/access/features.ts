import type { Selectable } from "kysely";
import type { Database } from "#db/types.ts";
import type { Role } from "./roles.ts";

/** Who a feature is for: nobody, the members of the project, or everybody who sees the project. */
export const FEATURE_ACCESS = ["disabled", "private", "enabled"] as const;

/**
 * The features of a project: the column of each access level, and the lowest role that may use the feature if only
 * members may. Features that show code are not for Guests.
 */
export const FEATURES = {
  issues: { column: "issues_access_level", role: "guest" },
  merge_requests: { column: "merge_requests_access_level", role: "reporter" },
  repository: { column: "repository_access_level", role: "reporter" },
  wiki: { column: "wiki_access_level", role: "guest" },
  snippets: { column: "snippets_access_level", role: "guest" },
  monitoring: { column: "monitor_access_level", role: "guest" },
  security: { column: "security_and_compliance_access_level", role: "guest" },
} as const satisfies Readonly<Record<string, { readonly column: keyof Database["projects"]; readonly role: Role }>>;

export type Feature = keyof typeof FEATURES;
type FeatureColumn = (typeof FEATURES)[Feature]["column"];

/** The columns of `projects` with the access levels of its features. */
export const FEATURE_COLUMNS: readonly FeatureColumn[] = Object.values(FEATURES).map(({ column }) => column);
export type FeatureLevels = Readonly<Pick<Selectable<Database["projects"]>, FeatureColumn>>;
