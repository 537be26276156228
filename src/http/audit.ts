import type { Insertable } from "kysely";
import type { Origin } from "#access/access.ts";
import type { Actor, UserByToken } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import type { AuditTarget } from "./endpoint.ts";

/** The columns of an audit event that is still to be written. */
export type AuditEntry = Omit<Insertable<Database["audit_events"]>, "id" | "created_at">;

type AuditActor = Pick<Actor, "user" | "sudoer"> & Partial<Pick<UserByToken, "token">>;
type AuditOrigin = Pick<Origin, "requestId"> & { readonly address: string | null };

export function auditEntry(
  event: string,
  actor: AuditActor | null,
  { address, requestId }: AuditOrigin,
  target: AuditTarget | undefined,
): AuditEntry {
  return {
    event,
    actor_id: actor?.user.id ?? null,
    actor_name: actor?.user.username ?? "",
    sudo_actor_id: actor?.sudoer?.id ?? null,
    target_type: target?.type ?? null,
    target_id: target?.id ?? null,
    target_name: target?.name ?? null,
    entity_type: target?.entity?.type ?? "Instance",
    entity_id: target?.entity?.id ?? null,
    // A request with an impersonation token was not made by the user, although nobody can say who made it.
    details: { ...target?.details, ...(actor?.token?.impersonation && { impersonation_token_id: actor.token.id }) },
    ip_address: address,
    request_id: requestId,
  };
}

/** Inserts an audit event in the transaction of the write, so that neither exists without the other. */
export const insertAudit = (tx: Tx, entry: AuditEntry) => tx.insertInto("audit_events").values(entry).execute();

export const writeAudit = (tx: Tx, ...entry: Parameters<typeof auditEntry>) => insertAudit(tx, auditEntry(...entry));
