import type { Domain } from "#domains/foundation/domain.ts";
import { attentionConstraints } from "./constraints.ts";
import { attentionDeletions } from "./deletions.ts";
import { notificationSettings } from "./notification-settings/routes.ts";
import { notificationJobs } from "./notifications/jobs.ts";
import { notificationEndpoints } from "./notifications/routes.ts";
import { todoEndpoints } from "./todos/endpoints.ts";
import { completeTodos } from "./todos/jobs.ts";
import type { TodoKind } from "./todos/kinds.ts";

/** What asks people to look at items of some kinds. Each domain above makes the endpoints to subscribe to its own. */
export const attention = (todos: readonly TodoKind[]): Domain => {
  const kinds = todos.map(({ items }) => items.kind);
  return {
    resources: {
      todos: todoEndpoints(todos),
      notifications: notificationEndpoints(kinds),
      notificationSettings,
    },
    jobs: [completeTodos, ...notificationJobs(kinds)],
    constraints: attentionConstraints,
    deletions: attentionDeletions,
  };
};
