import type { Config } from "#config.ts";
import type { Tx } from "#db/database.ts";
import type { Letter } from "#mail/letter.ts";
import { expiringToken } from "./expiry.ts";
import { linkUrl, type Purpose, startLink } from "./links.ts";
import {
  accountLocked,
  confirmEmail,
  invitation,
  newSignIn,
  passwordChanged,
  resetPassword,
  tokenExpiring,
} from "./messages.ts";
import { awaitsConfirmation, isConfirmed, isOpen, recipient } from "./recipients.ts";
import type { Mail } from "./send.ts";

const FORGOTTEN = "/-/account/forgotten";

/** Composes a mail and activates its link; returns undefined if there is no longer a reason to send it. */
export async function letterOf(
  tx: Tx,
  mail: Mail,
  { site, secret }: { site: string; secret: string },
): Promise<Omit<Letter, "id"> | undefined> {
  const user = await recipient(tx, mail.userId);
  if (!user) return undefined;

  const linked = async (purpose: Purpose, email: string) => {
    const started = await startLink(tx, secret, { purpose, user_id: user.id, email });
    return started === undefined ? undefined : linkUrl(site, purpose, secret);
  };

  if (mail.kind === "confirm_email") {
    const email = mail.email.toLowerCase();
    if (!(await awaitsConfirmation(tx, user, email))) return undefined;
    const link = await linked("confirm", email);
    return link === undefined ? undefined : { to: email, ...confirmEmail(user, email, link) };
  }

  if (!isOpen(user)) return undefined;
  if (mail.kind === "reset_password") {
    const email = (mail.email ?? user.email).toLowerCase();
    if (mail.email !== undefined && !(await isConfirmed(tx, user, email))) return undefined;
    const link = await linked("reset", email);
    return link === undefined ? undefined : { to: email, ...resetPassword(user, link) };
  }

  if (mail.kind === "invitation") {
    if (user.sign_in_count > 0) return undefined;
    const link = await linked("invite", user.email.toLowerCase());
    return link === undefined ? undefined : { to: user.email, ...invitation(user, site, link) };
  }

  // The address may belong to a stranger, who must not hear about an account they did not create.
  if (user.confirmed_at === null) return undefined;
  const forgotten = site + FORGOTTEN;
  switch (mail.kind) {
    case "new_sign_in":
      return { to: user.email, ...newSignIn(user, mail, forgotten) };
    case "account_locked":
      return { to: user.email, ...accountLocked(user, forgotten) };
    case "password_changed":
      return { to: user.email, ...passwordChanged(user, forgotten) };
    case "token_expiring": {
      const token = await expiringToken(tx, mail.tokenId, user.id);
      return token && { to: user.email, ...tokenExpiring(user, token) };
    }
  }
}

/** The origin of links in mails; it never comes from a request's Host header. */
export const mailedSite = ({ externalUrl, host, port }: Config): string =>
  externalUrl === undefined ? `http://${host.includes(":") ? `[${host}]` : host}:${port}` : new URL(externalUrl).origin;
