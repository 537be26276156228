import type { Tx } from "#db/database.ts";
import type { AuditTarget } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";

/** Writes who did what to whom, in the transaction of the deed: neither is ever there without the other. */
export async function writeAudit(tx: Tx, event: string, { actor, request, id }: Exchange, target: AuditTarget | undefined) {
  await tx
    .insertInto("audit_events")
    .values({
      event,
      actor_id: actor?.user.id ?? null,
      actor_name: actor?.user.username ?? "",
      sudo_actor_id: actor?.sudoer?.id ?? null,
      target_type: target?.type ?? null,
      target_id: target?.id ?? null,
      target_name: target?.name ?? null,
      details: target?.details ?? {},
      ip_address: request.ip,
      request_id: id,
    })
    .execute();
}
