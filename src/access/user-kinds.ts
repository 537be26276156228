import type { Selectable } from "kysely";
import type { Database } from "#db/types.ts";

export type UserType = Selectable<Database["users"]>["user_type"];
type State = Selectable<Database["users"]>["state"];

/** Types of users that are shown with `bot: true`. */
export const BOTS: ReadonlySet<UserType> = new Set([
  "alert_bot",
  "project_bot",
  "support_bot",
  "visual_review_bot",
  "migration_bot",
  "security_bot",
  "automation_bot",
  "security_policy_bot",
  "admin_bot",
  "service_account",
  "duo_code_review_bot",
]);

/** Types that are not internal; internal accounts belong to the installation itself. */
export const NOT_INTERNAL: readonly UserType[] = ["human", "project_bot", "service_user", "service_account"];

export const USER_TYPES: readonly UserType[] = [
  ...NOT_INTERNAL,
  "support_bot",
  "alert_bot",
  "visual_review_bot",
  "ghost",
  "migration_bot",
  "security_bot",
  "automation_bot",
  "security_policy_bot",
  "admin_bot",
  "placeholder",
  "duo_code_review_bot",
  "import_user",
];

/** States that close an account to its owner. */
export const CLOSED_STATES: readonly State[] = ["blocked", "ldap_blocked", "banned", "blocked_pending_approval"];

export const STATES: readonly State[] = ["active", "deactivated", ...CLOSED_STATES];
