import { randomUUID } from "node:crypto";
import type { Tx } from "#db/database.ts";
import type { Sealing } from "#lib/sealing.ts";
import { startLink } from "./links.ts";

export interface Invitation {
  /** What the secret is derived from; the mail carries it, so that its link is the same. */
  readonly nonce: string;
  readonly secret: string;
  readonly expires_at: string;
}

/** Starts a link by which a new user chooses a password; it ends earlier ones. */
export async function startInvitation(
  tx: Tx,
  sealing: Sealing,
  { id, email }: { readonly id: number; readonly email: string },
): Promise<Invitation> {
  const nonce = randomUUID();
  const secret = await invitationSecret(sealing, nonce);
  const link = { purpose: "invite", user_id: id, email: email.toLowerCase() } as const;
  const expires_at = await startLink(tx, secret, link);
  if (expires_at === undefined) throw new Error("an invitation has the secret of an earlier one");
  return { nonce, secret, expires_at };
}

export const invitationSecret = async (sealing: Sealing, nonce: string): Promise<string> =>
  (await sealing.derive(`invitation ${nonce}`)).toString("base64url");
