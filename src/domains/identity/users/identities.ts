import { sql } from "kysely";
import type { Config } from "#config.ts";
import type { Tx } from "#db/database.ts";
import { isInPlan } from "#http/gates.ts";
import { type Problems, refuse } from "#lib/problems.ts";
import { badRequest, missing } from "#lib/refusal.ts";

interface IdentityParams {
  extern_uid?: string;
  provider?: string;
  group_id_for_saml?: number;
}

/** Providers of identities that exist from Premium on. */
const PREMIUM_PROVIDERS: readonly (string | undefined)[] = ["group_saml", "scim"];

const IDENTITY = ["provider", "extern_uid", "group_id_for_saml"] as const;

interface Request<Params> {
  readonly params: Params;
  readonly services: { readonly config: Config };
  ignored(name: string): void;
}

/** Leaves out an identity whose provider is above the plan; like any parameter above it, it is ignored. */
export function withinPlan<Params extends IdentityParams>({ params, services, ignored }: Request<Params>): Params {
  if (!PREMIUM_PROVIDERS.includes(params.provider) || isInPlan({ plan: "premium" }, services.config)) return params;
  const kept = { ...params };
  for (const name of IDENTITY) {
    if (kept[name] !== undefined) ignored(name);
    delete kept[name];
  }
  return kept;
}

/** A user's id at an identity provider; a top-level group can be one. */
interface Identity {
  readonly provider: string;
  readonly extern_uid: string;
  readonly saml_provider_id: number | null;
}

/** The identity among the parameters of a user, if there is one. */
export async function readIdentity(
  tx: Tx,
  { extern_uid, provider, group_id_for_saml: groupId }: IdentityParams,
  problems: Problems,
): Promise<Identity | undefined> {
  if (extern_uid === undefined || provider === undefined) return undefined;
  if (provider !== "group_saml") return { provider, extern_uid, saml_provider_id: null };
  if (groupId === undefined) refuse(problems, "identities.saml_provider_id", "can't be blank: send group_id_for_saml");
  else await requireTopLevelGroup(tx, groupId);
  return { provider, extern_uid, saml_provider_id: groupId ?? null };
}

async function requireTopLevelGroup(tx: Tx, id: number) {
  const group = await tx
    .selectFrom("namespaces")
    .select("parent_id")
    .where("id", "=", id)
    .where("kind", "=", "group")
    .executeTakeFirst();
  if (!group) throw missing("Group");
  if (group.parent_id !== null) throw badRequest("Must be a top-level group");
}

export const upsertIdentity = (tx: Tx, userId: number, identity: Identity) =>
  tx
    .insertInto("identities")
    .values({ user_id: userId, ...identity })
    .onConflict((clash) =>
      clash
        .expression(sql`user_id, provider, coalesce(saml_provider_id, 0)`)
        .doUpdateSet({ extern_uid: identity.extern_uid, updated_at: sql<string>`now()` }),
    )
    .execute();

/** Removes what a user has at a provider: one identity, or with SAML one for each group. */
export async function removeIdentities(tx: Tx, userId: number, provider: string) {
  const removed = await tx
    .deleteFrom("identities")
    .where("user_id", "=", userId)
    .where("provider", "=", provider)
    .returning("updated_at")
    .execute();
  if (removed.length === 0) throw missing("Identity");
  return removed;
}
