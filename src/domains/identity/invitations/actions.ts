import type { Tx } from "#db/database.ts";
import { conflict, missing } from "#lib/refusal.ts";
import { startInvitation } from "#domains/foundation/mails/invitations.ts";
import { mailedSite } from "#domains/foundation/mails/letters.ts";
import { linkUrl } from "#domains/foundation/mails/links.ts";
import { isOpen } from "#domains/foundation/mails/recipients.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import type { Services } from "#services.ts";

/**
 * Starts an invitation of a user who never signed in, and mails it too where there is a mail server. The address that
 * people use counts for the link; `site` is taken where none is configured.
 */
export async function inviteUser(tx: Tx, { config, jobs, sealing }: Services, userId: number, site: string) {
  const user = await invitableUser(tx, userId);
  const { nonce, secret, expires_at } = await startInvitation(tx, sealing, user);
  const mailed = config.smtpUrl !== undefined;
  if (mailed) await mailTo(jobs, tx, { kind: "invitation", userId, nonce });
  const url = linkUrl(config.externalUrl === undefined ? site : mailedSite(config), "invite", secret);
  return { user, url, expires_at, mailed };
}

async function invitableUser(tx: Tx, id: number) {
  const user = await tx
    .selectFrom("users")
    .select(["id", "username", "email", "state", "user_type", "sign_in_count"])
    .where("id", "=", id)
    .where("removal_began_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!user) throw missing("User");
  if (!isOpen(user)) throw conflict("Only people whose account is open can be invited");
  if (user.sign_in_count > 0)
    throw conflict("The user has signed in before, and can ask for a new password at /-/account/forgotten");
  return user;
}
