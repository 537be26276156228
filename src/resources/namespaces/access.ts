import { type Access, requireActor } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { namespaceAddress } from "#access/addresses.ts";
import { visibleGroup } from "#access/containers.ts";
import type { Databases } from "#db/database.ts";
import { missing, moved } from "#lib/refusal.ts";

/** The namespace of `:id`: a group that the caller may see, their own place, or for administrators anybody's. */
export const inNamespace = (): Access<{ actor: Actor; namespaceId: number }> => ({
  rule: "anyone signed in who may see the namespace",
  signedIn: true,
  scopes: [],
  async check({ db, actor: caller, path }) {
    const actor = requireActor(caller);
    const address = await namespaceAddress(db, path["id"] ?? "");
    if (!(await mayFind(db, actor, address.id))) throw missing("Namespace");
    if (address.moved) throw moved("id", address.id);
    return { actor, namespaceId: address.id };
  },
});

async function mayFind(db: Databases, actor: Actor, id: number): Promise<boolean> {
  if (await visibleGroup(db, actor, id)) return true;
  const place = await db.write.selectFrom("users").select("id").where("namespace_id", "=", id).executeTakeFirst();
  return place !== undefined && (place.id === actor.user.id || isAdministrator(actor));
}
