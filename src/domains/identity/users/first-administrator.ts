import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import { SCOPES } from "#access/scopes.ts";
import type { Db, Tx } from "#db/database.ts";
import type { Problems } from "#lib/problems.ts";
import { newToken } from "#lib/secrets.ts";
import type { Services } from "#services.ts";
import { createUser } from "./actions.ts";
import { checkPassword } from "./validate.ts";

export interface FirstAdministrator {
  /** The generated token, which must be shown; undefined if the configuration set one. */
  readonly token: string | undefined;
}

const FIRST_ID = 1;
const ROOT = { username: "root", name: "Administrator", email: "root@localhost" };

/** Creates `root`, id 1, with a token of all scopes, if the database has no users; otherwise does nothing. */
export async function createFirstAdministrator(tx: Tx, services: Services): Promise<FirstAdministrator | undefined> {
  if (await hasUsers(tx)) return undefined;
  // Two processes that start at the same time must not both find it empty.
  await sql`lock table users in share row exclusive mode`.execute(tx);
  if (await hasUsers(tx)) return undefined;
  const { rootToken, rootPassword } = services.config;
  if (rootToken !== undefined) refuseWeakToken(rootToken);
  if (rootPassword !== undefined) refuseWeakPassword(rootPassword);

  const settings = await tx.selectFrom("settings").selectAll().executeTakeFirstOrThrow();
  await sql`select setval(pg_get_serial_sequence('users', 'id'), ${FIRST_ID}, false)`.execute(tx);
  const passwordDigest = rootPassword === undefined ? undefined : await services.passwords.hash(rootPassword);
  const root = { ...ROOT, force_random_password: true, admin: true, skip_confirmation: true };
  const id = await createUser(tx, root, { settings, blobs: services.blobs, passwordDigest, actorId: null });
  const value = rootToken ?? newToken();
  await tx
    .insertInto("personal_access_tokens")
    .values({
      user_id: id,
      name: "First administrator's token",
      scopes: [...SCOPES],
      token_digest: Buffer.from(tokenDigest(value), "hex"),
      expires_at: sql<string>`(now() at time zone 'UTC')::date + 365`,
    })
    .execute();
  return { token: rootToken === undefined ? value : undefined };
}

/** Whether the first administrator exists and has never used a token nor signed in. */
export async function isFirstAdministratorUnused(db: Db): Promise<boolean> {
  const root = db.selectFrom("users").select("id").where("id", "=", FIRST_ID).where("admin", "=", true);
  const unused = root.where("last_activity_on", "is", null).where("sign_in_count", "=", 0);
  return (await unused.executeTakeFirst()) !== undefined;
}

const hasUsers = async (tx: Tx) =>
  (await tx.selectFrom("users").select("id").limit(1).executeTakeFirst()) !== undefined;

function refuseWeakToken(token: string) {
  if (token.length < 27 || new Set(token).size < 12 || /\s/.test(token)) {
    throw new Error(
      "FAIRLEAD_ROOT_TOKEN is too weak: use at least 27 random characters, for example from `openssl rand -base64 24`",
    );
  }
}

function refuseWeakPassword(password: string) {
  const problems: Problems = {};
  checkPassword(problems, password, 12, ROOT);
  const [problem] = problems["password"] ?? [];
  if (problem !== undefined) throw new Error(`FAIRLEAD_ROOT_PASSWORD ${problem}`);
}
