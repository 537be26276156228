import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import type { Possession } from "./line.ts";
import { insert, type Row, type Table, word } from "./rows.ts";

/** Gives a user something, and says by what name it is called in a path. */
export async function give(db: Db, kind: Possession, user_id: number, callerId: number): Promise<string> {
  const name = word();
  switch (kind) {
    case "session": {
      const [row] = await insert(db, "sessions", [sessionOf(user_id)]);
      return String(row?.["id"]);
    }
    case "email": {
      const [row] = await insert(db, "emails", [{ user_id, email: `${name}@example.com` }]);
      return String(row?.["id"]);
    }
    case "key": {
      const [row] = await insert(db, "keys", [sshKeyOf(user_id, name)]);
      return String(row?.["id"]);
    }
    case "identity":
      await insert(db, "identities", [{ user_id, provider: name, extern_uid: name }]);
      return name;
    case "custom attribute":
      await insert(db, "user_custom_attributes", [{ user_id, key: name, value: name }]);
      return name;
    case "impersonation token": {
      const [row] = await insert(db, "personal_access_tokens", [tokenOf(user_id, { impersonation: true })]);
      return String(row?.["id"]);
    }
    case "follower":
      await sql`insert into follows (follower_id, followed_id)
        select ${callerId}, ${user_id} where ${callerId} not in (0, ${user_id}) on conflict do nothing`.execute(db);
      return name;
  }
}

const sessionOf = (user_id: number): Row => {
  const [created_at, ends_at] = [Date.now(), Date.now() + 3_600_000].map((at) => new Date(at).toISOString());
  const digest = String.raw`\x${randomBytes(32).toString("hex")}`;
  return { user_id, digest, created_at, last_seen_at: created_at, ends_at, user_agent: "matrix" };
};

/** A token whose value nobody knows. */
export const tokenOf = (user_id: number, { impersonation = false } = {}): Row => ({
  ...{ user_id, name: word(), scopes: ["api"], token_digest: String.raw`\x${randomBytes(32).toString("hex")}` },
  ...{ impersonation, created_at: new Date().toISOString() },
});

const sshKeyOf = (user_id: number, title: string): Row => ({
  ...{ user_id, title, key: newSshKey(), fingerprint_sha256: title },
  ...{ kind: "user", usage_type: "auth", created_at: new Date().toISOString() },
});

/** A key that opens the projects which it is told of. */
export const deployKeyOf = (user_id: number): Row => ({ ...sshKeyOf(user_id, word()), kind: "deploy" });

/** The fingerprint of a key that somebody has. */
export const FINGERPRINT = `SHA256:${"0".repeat(43)}`;

const KEPT = "kept-";

/** Takes it from whoever another test on the same database gave it to. */
export async function giveKnownKey(db: Db, user_id: number) {
  await db.deleteFrom("keys").where("fingerprint_sha256", "=", FINGERPRINT).execute();
  await insert(db, "keys", [{ ...sshKeyOf(user_id, `${KEPT}known`), fingerprint_sha256: FINGERPRINT }]);
}

/** Three of everything that a list of users' things shows. */
export async function fillAccount(db: Db, user_id: number, others: readonly number[]) {
  const three: readonly (readonly [Table, (name: string, index: number) => Row])[] = [
    ["sessions", () => sessionOf(user_id)],
    ["emails", (name) => ({ user_id, email: `${KEPT}${name}@example.com` })],
    ["keys", (name) => sshKeyOf(user_id, KEPT + name)],
    ["personal_access_tokens", () => tokenOf(user_id, { impersonation: true })],
    ["user_custom_attributes", (key) => ({ user_id, key, value: "x" })],
    ["follows", (_, index) => ({ follower_id: user_id, followed_id: others[index] })],
    ["follows", (_, index) => ({ follower_id: others[index], followed_id: user_id })],
  ];
  for (const [table, row] of three) {
    await insert(
      db,
      table,
      [0, 1, 2].map((index) => row(word(), index)),
    );
  }
}

/** Makes accounts as they were before requests gave them more, or set them otherwise. */
export async function renew(db: Db) {
  await sql`delete from keys where kind = 'user' and title not like ${`${KEPT}%`}`.execute(db);
  await sql`delete from emails where email not like ${`${KEPT}%`}`.execute(db);
  await sql`update users set following_count = 0, view_diffs_file_by_file = false
    where following_count <> 0 or view_diffs_file_by_file`.execute(db);
  await sql`delete from user_statuses`.execute(db);
}
