import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { namespaceAddress } from "#access/addresses.ts";
import { visibleGroup } from "#access/containers.ts";
import { LEVELS } from "#access/roles.ts";
import type { Databases, Tx } from "#db/database.ts";
import { badFields, forbidden, missing } from "#lib/refusal.ts";
import { holdPlace, type Place, refuseClosed } from "#resources/namespaces/placement.ts";
import { isTaken } from "#resources/namespaces/queries.ts";

/** Where a project is to be, and what the caller is there. */
export interface Target {
  readonly id: number;
  readonly level: number;
}

/** The namespace that the caller named by id or full path; one that they may not see is as if it were not there. */
export async function namedPlace(db: Databases, actor: Actor, idOrPath: number | string): Promise<Target> {
  const address = await namespaceAddress(db, String(idOrPath));
  const group = await visibleGroup(db, actor, address.id);
  if (group) return { id: group.id, level: group.level };
  const own = await ownPlace(db, actor.user.id);
  if (own.id !== address.id && !isAdministrator(actor)) throw missing("Namespace");
  return { id: address.id, level: LEVELS.owner };
}

/** A user's own namespace. */
export async function ownPlace(db: Databases, userId: number): Promise<Target> {
  const user = await db.write.selectFrom("users").select("namespace_id").where("id", "=", userId).executeTakeFirst();
  if (!user) throw missing("User");
  return { id: user.namespace_id, level: LEVELS.owner };
}

/** Who may create projects in a group, by its own choice; for administrators nothing is closed. */
const CREATORS: Readonly<Record<string, number>> = {
  owner: LEVELS.owner,
  maintainer: LEVELS.maintainer,
  developer: LEVELS.developer,
};

/** The place that a project is to be put into, held as it is, if the caller may put one there. */
export async function openPlace(tx: Tx, actor: Actor, { id, level }: Target): Promise<Place> {
  const place = await holdPlace(tx, id);
  if (!place) throw missing("Namespace");
  if (!isAdministrator(actor)) {
    if (place.kind === "group" && !(level >= (CREATORS[place.project_creation_level] ?? Infinity))) throw forbidden();
    if (place.kind === "user") await refuseOverLimit(tx, place.id);
  }
  refuseClosed(place);
  return place;
}

// The user's row is held, so that two projects at once cannot both be the last one.
async function refuseOverLimit(tx: Tx, namespaceId: number) {
  const { projects_limit: limit } = await tx
    .selectFrom("users")
    .select("projects_limit")
    .where("namespace_id", "=", namespaceId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select from projects where namespace_id = ${namespaceId} limit ${limit}) own`.execute(
    tx,
  );
  if ((rows[0]?.count ?? 0) < limit) return;
  throw forbidden(
    limit === 0
      ? "You cannot create projects in your personal namespace. Contact your administrator."
      : `You've reached your limit of ${limit} projects created. Contact your administrator.`,
  );
}

/** The unique address holds where two callers race. */
export async function refuseTakenPath(tx: Tx, namespaceId: number, path: string) {
  if (await isTaken(tx, namespaceId, path))
    throw badFields({ name: ["has already been taken"], path: ["has already been taken"] });
}

/** Whoever has a project in their own namespace is its Owner. */
export async function keepOwner(tx: Tx, projectId: number, { id, kind }: Place) {
  if (kind !== "user") return;
  await sql`
    insert into members (user_id, project_id, access_level)
    select id, ${projectId}, ${sql.lit(LEVELS.owner)} from users where namespace_id = ${id}
    on conflict (project_id, user_id) where project_id is not null
      do update set access_level = excluded.access_level, expires_at = null`.execute(tx);
}
