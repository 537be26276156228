import type { Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import type { AuditTarget } from "#http/endpoint.ts";

/** Writes an audit event that names the command instead of a user, since nobody is signed in. */
export const auditCommand = (tx: Tx, command: string, event: string, target: AuditTarget) =>
  writeAudit(tx, event, null, { address: null, requestId: "" }, { ...target, details: { ...target.details, command } });
