import type { Letter } from "#mail/letter.ts";
import type { Recipient } from "./recipients.ts";
import { LIVES } from "./links.ts";

type Message = Pick<Letter, "subject" | "paragraphs">;

const hello = ({ username }: Recipient) => `Hello ${username},`;
const notYou = "If you did not request this, ignore this mail: nothing happens unless the link is used.";

export const confirmEmail = (user: Recipient, email: string, link: string): Message => ({
  subject: "Confirm your email address",
  paragraphs: [
    hello(user),
    `please confirm that ${email} is yours.`,
    { label: "Confirm the address", link },
    `The link works once, for ${LIVES.confirm}. ${notYou}`,
  ],
});

export const resetPassword = (user: Recipient, link: string): Message => ({
  subject: "Choose a new password",
  paragraphs: [
    hello(user),
    "someone requested a new password for your account.",
    { label: "Choose a new password", link },
    `The link works once, for ${LIVES.reset}. ${notYou}`,
  ],
});

export const invitation = (user: Recipient, site: string, link: string): Message => ({
  subject: "Your new account",
  paragraphs: [
    hello(user),
    `an administrator created an account for you at ${site}. Your username is ${user.username}.`,
    { label: "Choose a password", link },
    `The link works once, for ${LIVES.invite}. If you did not expect this, do nothing: nobody can use the account ` +
      "without it.",
  ],
});

export const newSignIn = (user: Recipient, { ip, agent, at }: SignIn, forgotten: string): Message => ({
  subject: "New sign-in to your account",
  paragraphs: [
    hello(user),
    "someone signed in to your account from a browser or address that was not used before.",
    `When: ${at}. From: ${ip}. With: ${agent.slice(0, 255) || "an unknown program"}.`,
    "If this was you, there is nothing to do. If not, choose a new password now, which also ends every session.",
    { label: "Choose a new password", link: forgotten },
  ],
});

interface SignIn {
  readonly ip: string;
  readonly agent: string;
  readonly at: string;
}

export const tokenExpiring = (user: Recipient, { name, expires_at, days, account }: ExpiringToken): Message => ({
  subject: `An access token expires in ${days === 1 ? "1 day" : `${days} days`}`,
  paragraphs: [
    hello(user),
    `${account === null ? "your access token" : `the access token of the service account ${account} named`} “${name}” ` +
      `expires on ${expires_at}. Requests with it will be refused from that day on.`,
    "Rotate it or create another one before, and replace it where it is used.",
  ],
});

export interface ExpiringToken {
  readonly name: string;
  readonly expires_at: string;
  readonly days: number;
  /** The service account that the token belongs to, or null if it is the receiver's own. */
  readonly account: string | null;
}

export const accountLocked = (user: Recipient, forgotten: string): Message => ({
  subject: "Your account is locked for a while",
  paragraphs: [
    hello(user),
    "there were too many wrong passwords or codes for your account, so nobody can sign in to it for ten minutes.",
    "If this was you, wait or choose a new password. If not, someone may be guessing; a strong password withstands that.",
    { label: "Choose a new password", link: forgotten },
  ],
});

export const passwordChanged = (user: Recipient, forgotten: string): Message => ({
  subject: "Your password was changed",
  paragraphs: [
    hello(user),
    "the password of your account was changed, and all sessions with the old one have ended.",
    "If this was not you, choose a new password now.",
    { label: "Choose a new password", link: forgotten },
  ],
});
