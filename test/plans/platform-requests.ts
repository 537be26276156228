/** Every way to list audit events. */
import { any, list, none, type Request } from "./request.ts";
import type { Sample } from "./sample.ts";

const FILTERS = ["", none("created_after=2090-01-01"), none("created_before=2020-01-01")];

export function platformRequests({ user, largest, audited }: Sample): Request[] {
  const entities = ["entity_type=User", "entity_type=Project", any(`entity_type=User&entity_id=${user.id}`)];
  return [
    ...list("/audit_events", { filters: [...FILTERS, ...entities] }),
    ...list(`/groups/${largest.id}/audit_events`, { filters: [any("")] }),
    ...list(`/projects/${audited}/audit_events`, { filters: FILTERS }),
  ];
}
