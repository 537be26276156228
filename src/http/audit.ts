import type { Origin } from "#access/access.ts";
import type { Actor, UserByToken } from "#access/actor.ts";
import type { Tx } from "#db/database.ts";
import type { AuditTarget } from "./endpoint.ts";

/** Writes who did what to whom, in the transaction of the deed: neither is ever there without the other. */
export async function writeAudit(
  tx: Tx,
  event: string,
  actor: (Pick<Actor, "user" | "sudoer"> & Partial<Pick<UserByToken, "token">>) | null,
  { address, requestId }: Pick<Origin, "requestId"> & { readonly address: string | null },
  target: AuditTarget | undefined,
) {
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
      entity_type: target?.entity?.type ?? "Instance",
      entity_id: target?.entity?.id ?? null,
      // Whoever used an impersonation token was not the user, though nobody can say who it was.
      details: { ...target?.details, ...(actor?.token?.impersonation && { impersonation_token_id: actor.token.id }) },
      ip_address: address,
      request_id: requestId,
    })
    .execute();
}
