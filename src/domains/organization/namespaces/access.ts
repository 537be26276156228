import { type Access, defineRule, USERS } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { resolveNamespace } from "#access/paths.ts";
import { visibleGroup } from "#access/containers.ts";
import type { Databases } from "#db/database.ts";
import { missing, moved } from "#lib/refusal.ts";

/** Admits to a visible group or one's personal namespace; administrators also to those of others. */
export const inNamespace = (): Access<{ actor: Actor; namespaceId: number }> =>
  defineRule({
    rule: "anyone signed in who may see the namespace",
    admits: USERS,
    scopes: [],
    async check({ db, principal: actor, path }) {
      const resolved = await resolveNamespace(db, path["id"] ?? "");
      if (!(await mayFind(db, actor, resolved.id))) throw missing("Namespace");
      if (resolved.moved) throw moved("id", resolved.id);
      return { actor, namespaceId: resolved.id };
    },
  });

async function mayFind(db: Databases, actor: Actor, id: number): Promise<boolean> {
  if (await visibleGroup(db, actor, id)) return true;
  const place = await db.write.selectFrom("users").select("id").where("namespace_id", "=", id).executeTakeFirst();
  return place !== undefined && (place.id === actor.user.id || isAdministrator(actor));
}
