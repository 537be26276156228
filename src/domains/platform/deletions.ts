import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const platformDeletions: Deletions = {
  columns: {
    "audit_events.actor_id": "kept",
    "audit_events.sudo_actor_id": "kept",
    "audit_events.entity_id": "kept",
    "audit_events.target_id": "kept",
  },
};
