import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { type Problems, refuse } from "#lib/problems.ts";
import { FORBIDDEN_TYPE, readSshKey, type SshKey } from "#lib/ssh-keys.ts";

export interface NewKey {
  readonly key: string;
  readonly title: string;
  readonly expires_at?: string;
}

/** Reads the text of a new key, and says what is wrong with it, its title and its end; without a key something is. */
export async function readKey(
  tx: Tx,
  given: NewKey,
): Promise<{ readonly key: SshKey | undefined; readonly problems: Problems }> {
  const problems: Problems = {};
  const read = readSshKey(given.key);
  if ("problem" in read) refuseText(problems, given.key.trim(), read.problem);
  else if (await isPast(tx, given.expires_at)) refuse(problems, "key", "has expired");
  if (given.title.trim() === "") refuse(problems, "title", "can't be blank");
  return { key: "key" in read ? read.key : undefined, problems };
}

/** A text that is no key at all is of no allowed type either; one that is has its one reason. */
function refuseText(problems: Problems, text: string, problem: string) {
  const isReadable = !problem.startsWith("is invalid") && (problem !== FORBIDDEN_TYPE || /^ssh-dss[ \t]/.test(text));
  if (isReadable) return refuse(problems, "key", problem);
  refuse(problems, "key", FORBIDDEN_TYPE, problem === FORBIDDEN_TYPE ? "is invalid" : problem);
  refuse(problems, "fingerprint_sha256", "cannot be generated");
}

/** By the clock of PostgreSQL, as everything that expires. */
async function isPast(tx: Tx, moment: string | undefined): Promise<boolean> {
  if (moment === undefined) return false;
  const { rows } = await sql<{ past: boolean }>`select ${moment}::timestamptz <= now() as past`.execute(tx);
  return rows[0]?.past === true;
}
