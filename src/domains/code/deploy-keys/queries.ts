import { sql } from "kysely";
import type { ActingUser } from "#access/principal.ts";
import { actingUserColumns, groupIsEnding } from "#access/acting-users.ts";
import type { Databases, Db } from "#db/database.ts";
import { type Lookup, texts } from "#db/loader.ts";

/** All deploy keys. The kind is a literal, so that the planner uses their partial index. */
export const deployKeys = (db: Db) =>
  db
    .selectFrom("keys as k")
    .select(["k.id", "k.title", "k.created_at", "k.expires_at", "k.last_used_at", "k.key", "k.usage_type"])
    .select(["k.fingerprint_md5", "k.fingerprint_sha256"])
    .where("k.kind", "=", sql.lit("deploy"));

export type DeployKeyRow = Awaited<ReturnType<ReturnType<typeof deployKeys>["executeTakeFirstOrThrow"]>>;

/** The deploy keys that a project enabled. */
export const deployKeysIn = (db: Db, projectId: number) =>
  deployKeys(db)
    .innerJoin("deploy_keys_projects as d", "d.key_id", "k.id")
    .leftJoin("users as u", "u.id", "k.user_id")
    .select("d.can_push")
    .select(sql<string>`greatest(k.updated_at, d.updated_at)`.as("updated_at"))
    .select(sql<boolean>`coalesce(u.state = 'active' and u.user_type <> 'ghost', false)`.as("creator_active"))
    .where("d.project_id", "=", projectId);

export type DeployKeyInProjectRow = Awaited<ReturnType<ReturnType<typeof deployKeysIn>["executeTakeFirstOrThrow"]>>;

/** A deploy key of a project; undefined if the project did not enable it. */
export const deployKeyOf = (db: Db, projectId: number, keyId: number): Promise<DeployKeyInProjectRow | undefined> =>
  deployKeysIn(db, projectId).where("d.key_id", "=", keyId).executeTakeFirst();

interface SshKeyFields {
  readonly id: number;
  readonly title: string;
  readonly usage_type: "auth_and_signing" | "auth" | "signing";
  /** By the clock of PostgreSQL. */
  readonly expired: boolean;
  /** Whether its last recorded use is more than ten minutes ago. */
  readonly use_unrecorded: boolean;
}

/** The holder of a key that was proven over SSH: a user, or the deploy key itself, whatever became of its creator. */
export type KeyForSsh = SshKeyFields &
  (
    | { readonly kind: "user"; readonly user: ActingUser }
    // Its creator, the author of its push events.
    | { readonly kind: "deploy"; readonly user_id: number }
  );

interface SshRow extends ActingUser, Omit<SshKeyFields, "id"> {
  readonly kind: KeyForSsh["kind"];
  readonly key_id: number;
  readonly fingerprint_sha256: string;
}

const byFingerprint: Lookup<string, SshRow> = {
  text: `
    select k.id as key_id, k.kind, k.title, k.usage_type, k.fingerprint_sha256,
      k.expires_at is not null and k.expires_at <= now() as expired,
      k.last_used_at is null or k.last_used_at < now() - interval '10 minutes' as use_unrecorded, ${actingUserColumns}
    from keys k join users u on u.id = k.user_id
    where k.fingerprint_sha256 = any($1::text[]) and (k.kind = 'deploy' or not (${groupIsEnding}))`,
  keys: texts,
  key: (row) => row.fingerprint_sha256,
};

/** Finds a key by its fingerprint, `SHA256:…`, on the primary. The caller decides whether it may be used. */
export async function keyForSsh(db: Databases, fingerprintSha256: string): Promise<KeyForSsh | undefined> {
  const row = await db.point.load(byFingerprint, fingerprintSha256);
  if (!row) return undefined;
  const { key_id: id, kind, title, usage_type, expired, use_unrecorded, fingerprint_sha256: _, ...user } = row;
  const key = { id, title, usage_type, expired, use_unrecorded };
  return kind === "user" ? { ...key, kind, user } : { ...key, kind, user_id: user.id };
}

const enabledIn: Lookup<string, { readonly key: string; readonly can_push: boolean }> = {
  text: `
    select asked.key, d.can_push
    from unnest($1::text[]) as asked (key)
    join deploy_keys_projects d on d.key_id = split_part(asked.key, ':', 1)::bigint
      and d.project_id = split_part(asked.key, ':', 2)::bigint
    join keys k on k.id = d.key_id and k.kind = 'deploy' and (k.expires_at is null or k.expires_at > now())`,
  keys: texts,
  key: (row) => row.key,
};

/** What a deploy key may do in a project, read on the primary; undefined if it is not enabled there or has expired. */
export async function deployKeyIn(
  db: Databases,
  keyId: number,
  projectId: number,
): Promise<{ readonly can_push: boolean } | undefined> {
  const found = await db.point.load(enabledIn, `${keyId}:${projectId}`);
  return found && { can_push: found.can_push };
}

/** Records the use of a key, at most every ten minutes; skips a row that another transaction has locked. */
export async function recordKeyUse(db: Databases, { id, use_unrecorded }: Pick<KeyForSsh, "id" | "use_unrecorded">) {
  if (!use_unrecorded) return;
  await sql`
    update keys set last_used_at = now() where id in (
      select id from keys
      where id = ${id} and (last_used_at is null or last_used_at < now() - interval '10 minutes')
      for update skip locked)`.execute(db.write);
}
