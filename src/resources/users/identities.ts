import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { type Problems, refuse } from "#lib/problems.ts";
import { badRequest, missing } from "#lib/refusal.ts";

interface Given {
  readonly extern_uid?: string;
  readonly provider?: string;
  readonly group_id_for_saml?: number;
}

/** Who a user is at a provider of identities; a top-level group may be one. */
interface Identity {
  readonly provider: string;
  readonly extern_uid: string;
  readonly saml_provider_id: number | null;
}

/** The identity that was given, if one was. */
export async function givenIdentity(
  tx: Tx,
  { extern_uid, provider, group_id_for_saml: groupId }: Given,
  problems: Problems,
): Promise<Identity | undefined> {
  if (extern_uid === undefined || provider === undefined) return undefined;
  if (provider !== "group_saml") return { provider, extern_uid, saml_provider_id: null };
  if (groupId === undefined) refuse(problems, "identities.saml_provider_id", "can't be blank: send group_id_for_saml");
  else await refuseOtherGroup(tx, groupId);
  return { provider, extern_uid, saml_provider_id: groupId ?? null };
}

async function refuseOtherGroup(tx: Tx, id: number) {
  const group = await tx
    .selectFrom("namespaces")
    .select("parent_id")
    .where("id", "=", id)
    .where("kind", "=", "group")
    .executeTakeFirst();
  if (!group) throw missing("Group");
  if (group.parent_id !== null) throw badRequest("Must be a top-level group");
}

export const keepIdentity = (tx: Tx, userId: number, identity: Identity) =>
  tx
    .insertInto("identities")
    .values({ user_id: userId, ...identity })
    .onConflict((clash) =>
      clash
        .expression(sql`user_id, provider, coalesce(saml_provider_id, 0)`)
        .doUpdateSet({ extern_uid: identity.extern_uid }),
    )
    .execute();
