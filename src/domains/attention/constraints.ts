import type { Constraints } from "#db/errors.ts";
import { missing } from "#lib/refusal.ts";
import { notOwnAddress } from "./notification-settings/actions.ts";

const noUser = () => missing("User");

/** A foreign key refuses a row if another request deleted the referenced one meanwhile. */
export const attentionConstraints: Constraints = {
  todos_user_id_fkey: noUser,
  todos_author_id_fkey: noUser,
  notification_settings_user_id_fkey: noUser,
  notification_settings_group_id_fkey: () => missing("Group"),
  notification_settings_project_id_fkey: () => missing("Project"),
  notification_settings_email_id_fkey: notOwnAddress,
  subscriptions_user_id_fkey: noUser,
};
