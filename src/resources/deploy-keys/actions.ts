import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { LEVELS } from "#access/roles.ts";
import { belongsTo } from "#access/visible.ts";
import type { Tx } from "#db/database.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badFields, conflict, missing, Refusal } from "#lib/refusal.ts";
import type { SshKey } from "#lib/ssh-keys.ts";
import { type NewKey, readKey } from "./new-key.ts";
import { deployKeyOf, type DeployKeyInProjectRow, type DeployKeyRow, deployKeys } from "./queries.ts";

/** Who adds a key, and to which kind of installation. */
interface Adding {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly fips: boolean;
}

const TAKEN = "has already been taken";
const MOST_TRIES = 3;

/** Adds a key that every project may enable. */
export async function addPublicKey(adding: Adding, given: NewKey): Promise<DeployKeyRow> {
  const { key, problems } = await readKey(adding.tx, given);
  throwProblems(problems);
  const id = key && (await insertKey(adding, given, key, true));
  if (id === undefined) throw badFields({ fingerprint_sha256: [TAKEN] });
  return deployKeys(adding.tx).where("k.id", "=", id).executeTakeFirstOrThrow();
}

/** Lets a key open a project: the one that is there already where the caller may use that, else a new one. */
export async function addToProject(
  adding: Adding,
  projectId: number,
  given: NewKey & { readonly can_push?: boolean },
): Promise<DeployKeyInProjectRow> {
  const { tx, actor } = adding;
  const { key, problems } = await readKey(tx, given);
  const canPush = given.can_push ?? false;
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const known = key && (await heldKey(tx, "fingerprint_sha256", key.fingerprintSha256));
    if (known && (await isAccessible(tx, actor, known, projectId))) return enableIn(tx, projectId, known.id, canPush);
    if (known) refuse(problems, "fingerprint_sha256", TAKEN);
    throwProblems(ofProjectRoute(problems));
    const id = key && (await insertKey(adding, given, key, false));
    if (id !== undefined) return enableIn(tx, projectId, id, canPush);
    // Somebody else added it in this moment, so now it can be found.
  }
  throw conflict();
}

/** Lets a key that the caller may use open a project, too. */
export async function enableKey(
  tx: Tx,
  actor: Actor,
  projectId: number,
  keyId: number,
): Promise<DeployKeyInProjectRow> {
  const known = await heldKey(tx, "id", keyId);
  if (!known || !(await isAccessible(tx, actor, known, projectId))) throw missing("Deploy key");
  return enableIn(tx, projectId, keyId, false);
}

interface Changes {
  readonly title?: string;
  readonly can_push?: boolean;
}

/** Changes what a key may do in a project, and its title where that is nobody else's matter. */
export async function changeKey(
  tx: Tx,
  actor: Actor,
  projectId: number,
  keyId: number,
  { title, can_push }: Changes,
): Promise<DeployKeyInProjectRow> {
  const key = await holdKeyIn(tx, projectId, keyId);
  if (!key) throw new Refusal("missing", "404 Not found");
  if (can_push !== undefined) {
    await tx
      .updateTable("deploy_keys_projects")
      .set({ can_push, updated_at: sql<string>`now()` })
      .where("project_id", "=", projectId)
      .where("key_id", "=", keyId)
      .execute();
  }
  if (title !== undefined && (isAdministrator(actor) || !(key.public || (await opensMore(tx, projectId, keyId))))) {
    const problems: Problems = {};
    if (title.trim() === "") refuse(problems, "title", "can't be blank");
    throwProblems(ofProjectRoute(problems));
    await tx.updateTable("keys").set({ title: title.trim() }).where("id", "=", keyId).execute();
  }
  return shown(tx, projectId, keyId);
}

/** Takes a project from a key. A private one that opens no other goes with it, by a trigger. */
export async function removeFromProject(tx: Tx, projectId: number, keyId: number): Promise<DeployKeyInProjectRow> {
  const key = (await holdKeyIn(tx, projectId, keyId)) && (await deployKeyOf(tx, projectId, keyId));
  if (!key) throw missing("Deploy key");
  await tx.deleteFrom("deploy_keys_projects").where("project_id", "=", projectId).where("key_id", "=", keyId).execute();
  return key;
}

/** Nothing when the same key is there already, whoever's it is. */
async function insertKey({ tx, actor, fips }: Adding, given: NewKey, key: SshKey, isPublic: boolean) {
  const row = await tx
    .insertInto("keys")
    .values({
      kind: "deploy",
      user_id: actor.user.id,
      title: given.title.trim(),
      key: given.key.trim(),
      fingerprint_md5: fips ? null : key.fingerprintMd5,
      fingerprint_sha256: key.fingerprintSha256,
      expires_at: given.expires_at ?? null,
      public: isPublic,
    })
    .onConflict((clash) => clash.column("fingerprint_sha256").doNothing())
    .returning("id")
    .executeTakeFirst();
  return row?.id;
}

/** The key of an id or fingerprint, of whatever kind; it stays until the transaction ends. */
const heldKey = (tx: Tx, by: "id" | "fingerprint_sha256", value: number | string) =>
  tx.selectFrom("keys").select(["id", "kind", "public"]).where(by, "=", value).forKeyShare().executeTakeFirst();

type KnownKey = NonNullable<Awaited<ReturnType<typeof heldKey>>>;

/** A deploy key that opens a project, which nobody else lets open another one, or removes, until the transaction ends. */
const holdKeyIn = (tx: Tx, projectId: number, keyId: number) =>
  tx
    .selectFrom("keys as k")
    .innerJoin("deploy_keys_projects as d", "d.key_id", "k.id")
    .select(["k.id", "k.public"])
    .where("k.id", "=", keyId)
    .where("k.kind", "=", "deploy")
    .where("d.project_id", "=", projectId)
    .forUpdate("k")
    .executeTakeFirst();

/** Whether somebody may let a key open another project: it is for all, or they see it where it opens one already. */
async function isAccessible(tx: Tx, actor: Actor, key: KnownKey, projectId: number): Promise<boolean> {
  if (key.kind !== "deploy") return false;
  if (key.public || isAdministrator(actor)) return true;
  const { rows } = await sql`
    select from deploy_keys_projects d join projects p on p.id = d.project_id
    where d.key_id = ${key.id} and (p.id = ${projectId} or ${belongsTo(actor.user.id, LEVELS.maintainer)})
    limit 1`.execute(tx);
  return rows.length > 0;
}

async function opensMore(tx: Tx, projectId: number, keyId: number): Promise<boolean> {
  const other = await tx
    .selectFrom("deploy_keys_projects")
    .select("id")
    .where("key_id", "=", keyId)
    .where("project_id", "<>", projectId)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** What is so already stays as it is. */
async function enableIn(tx: Tx, projectId: number, keyId: number, canPush: boolean) {
  await tx
    .insertInto("deploy_keys_projects")
    .values({ project_id: projectId, key_id: keyId, can_push: canPush })
    .onConflict((clash) => clash.constraint("deploy_keys_projects_once").doNothing())
    .execute();
  return shown(tx, projectId, keyId);
}

async function shown(tx: Tx, projectId: number, keyId: number): Promise<DeployKeyInProjectRow> {
  const key = await deployKeyOf(tx, projectId, keyId);
  if (!key) throw missing("Deploy key");
  return key;
}

/** The routes of projects say whose fields these are. */
const ofProjectRoute = (problems: Problems): Problems =>
  Object.fromEntries(Object.entries(problems).map(([field, texts]) => [`deploy_key.${field}`, texts]));
