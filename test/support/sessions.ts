import { tokenDigest } from "#access/authenticate.ts";
import { csrfTokenOf, newSessionSecret } from "#access/sessions.ts";
import type { Db } from "#db/database.ts";

/** Begins a session of a user, and returns the headers by which a page of ours sends it. */
export async function beginSession(db: Db, userId: number): Promise<Record<string, string>> {
  const secret = newSessionSecret();
  const digest = Buffer.from(tokenDigest(secret), "hex");
  await db.insertInto("sessions").values({ user_id: userId, digest }).execute();
  return {
    cookie: `fairlead_session=${secret}`,
    "sec-fetch-site": "same-origin",
    "x-csrf-token": csrfTokenOf(secret),
  };
}
