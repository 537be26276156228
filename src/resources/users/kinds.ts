import type { Selectable } from "kysely";
import type { Database } from "#db/types.ts";

type UserType = Selectable<Database["users"]>["user_type"];

/** Kinds of users that show `bot: true`. */
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

/** Kinds that work for people or projects; all others belong to the installation itself. */
export const NOT_INTERNAL: readonly UserType[] = ["human", "project_bot", "service_user", "service_account"];
