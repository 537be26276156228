import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { LEVELS } from "#access/roles.ts";
import { belongsTo } from "#access/visible.ts";
import type { Tx } from "#db/database.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badFields, conflict, missing, Refusal } from "#lib/refusal.ts";
import type { SshKey } from "#lib/ssh-keys.ts";
import { type NewKey, validateKey } from "./new-key.ts";
import { deployKeyOf, type DeployKeyInProjectRow, type DeployKeyRow, deployKeys } from "./queries.ts";

interface KeyWrite {
  readonly tx: Tx;
  readonly actor: Actor;
  /** Whether the installation stores no MD5 fingerprints. */
  readonly fips: boolean;
}

const TAKEN = "has already been taken";
const MAX_ATTEMPTS = 3;
const now = sql<string>`now()`;

/** Adds a key that every project may enable. */
export async function addPublicKey(write: KeyWrite, newKey: NewKey): Promise<DeployKeyRow> {
  const { key, problems } = await validateKey(write.tx, newKey);
  throwProblems(problems);
  const id = key && (await insertKey(write, newKey, key, true));
  if (id === undefined) throw badFields({ fingerprint_sha256: [TAKEN] });
  return deployKeys(write.tx).where("k.id", "=", id).executeTakeFirstOrThrow();
}

/** Enables a key in a project: the registered one if the caller may use it, else a new one. */
export async function addToProject(
  write: KeyWrite,
  projectId: number,
  newKey: NewKey & { readonly can_push?: boolean },
): Promise<DeployKeyInProjectRow> {
  const { tx, actor } = write;
  const { key, problems } = await validateKey(tx, newKey);
  const canPush = newKey.can_push ?? false;
  for (let tries = 1; tries <= MAX_ATTEMPTS; tries++) {
    const known = key && (await lockKey(tx, "fingerprint_sha256", key.fingerprintSha256));
    if (known && (await mayEnable(tx, actor, known, projectId))) return enableIn(tx, projectId, known.id, canPush);
    if (known) refuse(problems, "fingerprint_sha256", TAKEN);
    throwProblems(withFieldPrefix(problems));
    const id = key && (await insertKey(write, newKey, key, false));
    if (id !== undefined) return enableIn(tx, projectId, id, canPush);
    // Another request has just added it, so the next attempt finds it.
  }
  throw conflict();
}

/** Enables a registered key that the caller may use in another project. */
export async function enableKey(
  tx: Tx,
  actor: Actor,
  projectId: number,
  keyId: number,
): Promise<DeployKeyInProjectRow> {
  const known = await lockKey(tx, "id", keyId);
  if (!known || !(await mayEnable(tx, actor, known, projectId))) throw missing("Deploy key");
  return enableIn(tx, projectId, keyId, false);
}

interface KeyUpdate {
  readonly tx: Tx;
  readonly actor: Actor;
  /** Reports to the caller that a parameter had no effect. */
  ignored(name: string): void;
}

interface KeyChanges {
  readonly title?: string;
  readonly can_push?: boolean;
}

/**
 * Changes what a key may do in a project, and its title. The title of a key that is public or enabled in other projects
 * is changed only by administrators; from others it is ignored.
 */
export async function changeKey(
  { tx, actor, ignored }: KeyUpdate,
  projectId: number,
  keyId: number,
  { title: newTitle, can_push }: KeyChanges,
): Promise<DeployKeyInProjectRow> {
  const title = newTitle?.trim();
  const key = await lockKeyIn(tx, projectId, keyId);
  if (!key) throw new Refusal("missing", "404 Not found");
  if (title === "") throw badFields({ "deploy_key.title": ["can't be blank"] });
  if (can_push !== undefined) {
    await tx
      .updateTable("deploy_keys_projects")
      .set({ can_push, updated_at: now })
      .where("project_id", "=", projectId)
      .where("key_id", "=", keyId)
      .execute();
  }
  if (title !== undefined && title !== key.title) {
    const isShared = key.public || (await isEnabledElsewhere(tx, projectId, keyId));
    if (isShared && !isAdministrator(actor)) ignored("title");
    else await tx.updateTable("keys").set({ title, updated_at: now }).where("id", "=", keyId).execute();
  }
  return requireKeyIn(tx, projectId, keyId);
}

/** Removes a key from a project. A trigger deletes a private key with its last project. */
export async function removeFromProject(tx: Tx, projectId: number, keyId: number): Promise<DeployKeyInProjectRow> {
  const key = (await lockKeyIn(tx, projectId, keyId)) && (await deployKeyOf(tx, projectId, keyId));
  if (!key) throw missing("Deploy key");
  await tx.deleteFrom("deploy_keys_projects").where("project_id", "=", projectId).where("key_id", "=", keyId).execute();
  return key;
}

/** Returns undefined if the fingerprint is already registered. */
async function insertKey({ tx, actor, fips }: KeyWrite, newKey: NewKey, key: SshKey, isPublic: boolean) {
  const row = await tx
    .insertInto("keys")
    .values({
      kind: "deploy",
      user_id: actor.user.id,
      title: newKey.title.trim(),
      key: newKey.key.trim(),
      fingerprint_md5: fips ? null : key.fingerprintMd5,
      fingerprint_sha256: key.fingerprintSha256,
      expires_at: newKey.expires_at ?? null,
      public: isPublic,
    })
    .onConflict((clash) => clash.column("fingerprint_sha256").doNothing())
    .returning("id")
    .executeTakeFirst();
  return row?.id;
}

/** Finds a key of any kind by id or fingerprint and locks it against deletion. */
const lockKey = (tx: Tx, by: "id" | "fingerprint_sha256", value: number | string) =>
  tx.selectFrom("keys").select(["id", "kind", "public"]).where(by, "=", value).forKeyShare().executeTakeFirst();

type LockedKey = NonNullable<Awaited<ReturnType<typeof lockKey>>>;

/** Finds and locks a deploy key of a project: until the transaction ends, no other project can enable or remove it. */
const lockKeyIn = (tx: Tx, projectId: number, keyId: number) =>
  tx
    .selectFrom("keys as k")
    .innerJoin("deploy_keys_projects as d", "d.key_id", "k.id")
    .select(["k.id", "k.public", "k.title"])
    .where("k.id", "=", keyId)
    .where("k.kind", "=", "deploy")
    .where("d.project_id", "=", projectId)
    .forUpdate("k")
    .executeTakeFirst();

/** Whether the caller may enable a key: it is public, already in the project, or in another one that they maintain. */
async function mayEnable(tx: Tx, actor: Actor, key: LockedKey, projectId: number): Promise<boolean> {
  if (key.kind !== "deploy") return false;
  if (key.public || isAdministrator(actor)) return true;
  const { rows } = await sql`
    select from deploy_keys_projects d join projects p on p.id = d.project_id
    where d.key_id = ${key.id} and (p.id = ${projectId} or ${belongsTo(actor.user.id, LEVELS.maintainer)})
    limit 1`.execute(tx);
  return rows.length > 0;
}

async function isEnabledElsewhere(tx: Tx, projectId: number, keyId: number): Promise<boolean> {
  const other = await tx
    .selectFrom("deploy_keys_projects")
    .select("id")
    .where("key_id", "=", keyId)
    .where("project_id", "<>", projectId)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** Enabling twice is a no-op. */
async function enableIn(tx: Tx, projectId: number, keyId: number, canPush: boolean) {
  await tx
    .insertInto("deploy_keys_projects")
    .values({ project_id: projectId, key_id: keyId, can_push: canPush })
    .onConflict((clash) => clash.constraint("deploy_keys_projects_once").doNothing())
    .execute();
  return requireKeyIn(tx, projectId, keyId);
}

async function requireKeyIn(tx: Tx, projectId: number, keyId: number): Promise<DeployKeyInProjectRow> {
  const key = await deployKeyOf(tx, projectId, keyId);
  if (!key) throw missing("Deploy key");
  return key;
}

/** Prefixes the fields of problems, as clients of the project routes expect. */
const withFieldPrefix = (problems: Problems): Problems =>
  Object.fromEntries(Object.entries(problems).map(([field, texts]) => [`deploy_key.${field}`, texts]));
