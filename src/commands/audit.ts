import type { Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import type { AuditTarget } from "#http/endpoint.ts";

/** Records what a command did: nobody is signed in on the machine, so the event names the command instead of a user. */
export const auditCommand = (tx: Tx, command: string, event: string, target: AuditTarget) =>
  writeAudit(tx, event, null, { address: null, requestId: "" }, { ...target, details: { ...target.details, command } });
