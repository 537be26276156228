import { reassignOfUser, removeOfContainers, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const attentionDeletions: Deletions = {
  columns: {
    "todos.user_id": "removed first",
    "todos.author_id": "moved to the ghost user",
    "notification_settings.user_id": "removed first",
    "notification_settings.group_id": "removed first",
    "notification_settings.project_id": "removed first",
    "subscriptions.user_id": "removed first",
    "mail_counts.author_id": "cascade",
  },
  ofUser: [
    removeOfUser("todos", "user_id"),
    removeOfUser("notification_settings", "user_id"),
    removeOfUser("subscriptions", "user_id"),
    reassignOfUser("todos", "author_id"),
  ],
  ofProjects: [removeOfContainers("notification_settings", "project_id")],
  ofGroups: [removeOfContainers("notification_settings", "group_id")],
};
