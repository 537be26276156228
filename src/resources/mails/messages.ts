import type { Letter } from "#mail/letter.ts";
import type { Recipient } from "./recipients.ts";
import { LIVES } from "./links.ts";

type Message = Pick<Letter, "subject" | "paragraphs">;

const hello = ({ username }: Recipient) => `Hello ${username},`;
const notYou = "If you did not ask for this, do nothing: without the link nobody can.";

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
    "somebody asked for a new password for your account.",
    { label: "Choose a new password", link },
    `The link works once, for ${LIVES.reset}. ${notYou}`,
  ],
});

export const newSignIn = (user: Recipient, { ip, agent, at }: SignIn, forgotten: string): Message => ({
  subject: "New sign-in to your account",
  paragraphs: [
    hello(user),
    "somebody signed in to your account from where you did not before.",
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
      `expires on ${expires_at}. What still uses it will be refused from that day on.`,
    "Rotate it or create another before, and put the new one in its place.",
  ],
});

export interface ExpiringToken {
  readonly name: string;
  readonly expires_at: string;
  readonly days: number;
  /** The service account that it belongs to, where it is not the receiver's own. */
  readonly account: string | null;
}

export const accountLocked = (user: Recipient, forgotten: string): Message => ({
  subject: "Your account is locked for a while",
  paragraphs: [
    hello(user),
    "there were too many wrong passwords or codes for your account, so nobody can sign in to it for ten minutes.",
    "If this was you, wait or choose a new password. If not, somebody guesses; a strong password withstands that.",
    { label: "Choose a new password", link: forgotten },
  ],
});

export const passwordChanged = (user: Recipient, forgotten: string): Message => ({
  subject: "Your password was changed",
  paragraphs: [
    hello(user),
    "the password of your account was changed, and what was signed in with the old one is signed out.",
    "If this was not you, choose a new password now.",
    { label: "Choose a new password", link: forgotten },
  ],
});
