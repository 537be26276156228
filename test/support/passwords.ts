import { argon2Sync, randomBytes } from "node:crypto";
import type { Db } from "#db/database.ts";

/** A digest of a password that is cheap to verify. */
export function passwordDigest(password: string): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync("argon2id", { message: password, nonce, parallelism: 1, tagLength: 32, memory: 8, passes: 1 });
  const text = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=8,t=1,p=1$${text(nonce)}$${text(tag)}`;
}

/** Gives a user a password. */
export const setPassword = (db: Db, id: number, password: string) =>
  db
    .updateTable("users")
    .set({ password_digest: passwordDigest(password) })
    .where("id", "=", id)
    .execute();
