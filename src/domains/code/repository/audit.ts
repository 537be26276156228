import { actorOf } from "#access/principal.ts";
import { type AuditEntry, auditEntry } from "#http/audit.ts";
import type { RepositoryAccess } from "#domains/storage/pushes/access.ts";

/** The audit event of a push over HTTP or SSH. */
export const PUSHED = "repository_pushed";

/** The audit event of a push outside HTTP; a deploy key acts for itself, not for the user who created it. */
export function pushEntry(
  { principal, kind, owner }: RepositoryAccess,
  origin: { readonly address: string | null; readonly requestId: string },
): AuditEntry {
  const details = principal.kind === "deploy key" ? { deploy_key_id: principal.key.id } : {};
  return auditEntry(PUSHED, actorOf(principal), origin, { ...kind.auditTarget(owner), details });
}
