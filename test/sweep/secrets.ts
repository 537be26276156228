import { tokenDigest } from "#access/authenticate.ts";
import type { World } from "#test/matrix/world.ts";
import type { TestApp } from "#test/support/app.ts";

/** What no response, no line of a log and no row of the audit log may contain. */
export interface Secrets {
  readonly texts: readonly string[];
  /** The e-mail address of a user who is not the caller. */
  readonly address: string;
}

export const PASSWORD = "Canary-Sings-At-Dawn-77";
const DIGEST = "canary-digest-of-a-password";

/** Gives every user a digest that can be searched for. */
export async function plantSecrets({ services }: TestApp, { otherUser }: World): Promise<Secrets> {
  await services.db.write.updateTable("users").set({ password_digest: DIGEST }).execute();
  const digest = tokenDigest(otherUser.token);
  return {
    texts: [PASSWORD, DIGEST, "argon2", digest, Buffer.from(digest, "hex").toString("base64")],
    address: otherUser.email,
  };
}
