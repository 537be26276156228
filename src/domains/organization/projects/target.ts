import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { resolveNamespace } from "#access/paths.ts";
import { visibleGroup } from "#access/containers.ts";
import { LEVELS, needsRole } from "#access/roles.ts";
import type { Databases, Tx } from "#db/database.ts";
import { badFields, forbidden, missing } from "#lib/refusal.ts";
import { lockNamespace, type TargetNamespace, refuseClosed } from "#domains/foundation/namespaces/placement.ts";
import { isTaken } from "#domains/foundation/namespaces/queries.ts";

/** The namespace for a project, and the caller's level in it. */
export interface Target {
  readonly id: number;
  readonly level: number;
}

/** Finds a namespace by id or full path; one that the caller may not see is answered like a missing one. */
export async function namedNamespace(db: Databases, actor: Actor, idOrPath: number | string): Promise<Target> {
  const address = await resolveNamespace(db, String(idOrPath));
  const group = await visibleGroup(db, actor, address.id);
  if (group) return { id: group.id, level: group.level };
  const own = await personalNamespace(db, actor.user.id);
  if (own.id !== address.id && !isAdministrator(actor)) throw missing("Namespace");
  return { id: address.id, level: LEVELS.owner };
}

/** The personal namespace of a user. */
export async function personalNamespace(db: Databases, userId: number): Promise<Target> {
  const user = await db.write.selectFrom("users").select("namespace_id").where("id", "=", userId).executeTakeFirst();
  if (!user) throw missing("User");
  return { id: user.namespace_id, level: LEVELS.owner };
}

/** The level that a group requires for creating projects; administrators always may. */
const CREATORS = ["owner", "maintainer", "developer"] as const;

function refuseLowerLevel(level: number, creators: string) {
  const role = CREATORS.find((each) => each === creators);
  if (!role) throw forbidden("In this group nobody creates projects");
  if (level < LEVELS[role]) throw needsRole(role, "group");
}

/** Locks the target namespace and refuses callers who may not create a project in it. */
export async function lockTarget(tx: Tx, actor: Actor, { id, level }: Target): Promise<TargetNamespace> {
  const namespace = await lockNamespace(tx, id);
  if (!namespace) throw missing("Namespace");
  if (!isAdministrator(actor)) {
    if (namespace.kind === "group") refuseLowerLevel(level, namespace.project_creation_level);
    if (namespace.kind === "user") await refuseOverLimit(tx, namespace.id);
  }
  refuseClosed(namespace);
  return namespace;
}

// The lock on the user's row keeps concurrent requests from exceeding the limit together.
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

/** Refuses a taken path; a unique index decides between concurrent requests. */
export async function refuseTakenPath(tx: Tx, namespaceId: number, path: string) {
  if (await isTaken(tx, namespaceId, path))
    throw badFields({ name: ["has already been taken"], path: ["has already been taken"] });
}

/** Makes a user Owner of a project in their personal namespace. */
export async function ensureOwner(tx: Tx, projectId: number, { id, kind }: TargetNamespace) {
  if (kind !== "user") return;
  await sql`
    insert into members (user_id, project_id, access_level)
    select id, ${projectId}, ${sql.lit(LEVELS.owner)} from users where namespace_id = ${id}
    on conflict (project_id, user_id) where project_id is not null
      do update set access_level = excluded.access_level, expires_at = null, updated_at = now()`.execute(tx);
}
