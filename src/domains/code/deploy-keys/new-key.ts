import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { type Problems, refuse } from "#lib/problems.ts";
import { FORBIDDEN_TYPE, readSshKey, type SshKey } from "#lib/ssh-keys.ts";

export interface NewKey {
  readonly key: string;
  readonly title: string;
  readonly expires_at?: string;
}

/** Parses a new key and collects the problems of its text, title and expiry; without a key there is at least one. */
export async function validateKey(
  tx: Tx,
  newKey: NewKey,
): Promise<{ readonly key: SshKey | undefined; readonly problems: Problems }> {
  const problems: Problems = {};
  const parsed = readSshKey(newKey.key);
  if ("problem" in parsed) refuseText(problems, newKey.key.trim(), parsed.problem);
  else if (await isPast(tx, newKey.expires_at)) refuse(problems, "key", "has expired");
  if (newKey.title.trim() === "") refuse(problems, "title", "can't be blank");
  return { key: "key" in parsed ? parsed.key : undefined, problems };
}

/** A text that is no key at all is reported as a forbidden type as well, as clients expect. */
function refuseText(problems: Problems, text: string, problem: string) {
  const isReadable = !problem.startsWith("is invalid") && (problem !== FORBIDDEN_TYPE || /^ssh-dss[ \t]/.test(text));
  if (isReadable) return refuse(problems, "key", problem);
  refuse(problems, "key", FORBIDDEN_TYPE, problem === FORBIDDEN_TYPE ? "is invalid" : problem);
  refuse(problems, "fingerprint_sha256", "cannot be generated");
}

/** By the clock of PostgreSQL, like every expiry. */
async function isPast(tx: Tx, time: string | undefined): Promise<boolean> {
  if (time === undefined) return false;
  const { rows } = await sql<{ past: boolean }>`select ${time}::timestamptz <= now() as past`.execute(tx);
  return rows[0]?.past === true;
}
