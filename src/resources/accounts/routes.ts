import Type from "typebox";
import { type Access, anyone } from "#access/access.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import type { Problems } from "#lib/problems.ts";
import { findLink, type Link, useLink } from "#resources/mails/links.ts";
import { askForReset } from "#resources/mails/send.ts";
import { targetOf } from "#resources/users/named.ts";
import { checkPassword } from "#resources/users/validate.ts";
import type { Services } from "#services.ts";
import { confirmAddress, resetPassword, userOfReset } from "./actions.ts";
import { setPageHeaders } from "./page.ts";
import {
  askedPage,
  badPassword,
  CONFIRM,
  changedPage,
  confirmedPage,
  confirmPage,
  deadLink,
  FORGOTTEN,
  forgottenPage,
  PASSWORD,
  passwordPage,
} from "./pages.ts";

const HTML = plain("text/html; charset=utf-8");
const Token = { token: Type.Optional(Type.String({ maxLength: 255, description: "The secret of the mailed link" })) };

/** Whoever has the link; that somebody else is signed in in the same browser changes nothing. */
const whoeverHasTheLink = (): Access<object> => ({ ...anyone(), signsIn: true });

const shown = { method: "GET", mount: "root", access: anyone(), returns: HTML } as const;
const posted = {
  method: "POST",
  mount: "root",
  access: whoeverHasTheLink(),
  returns: HTML,
  status: 200,
  limit: "sign-in",
} as const;

export const accounts = {
  confirmPage: endpoint({
    ...shown,
    path: CONFIRM,
    summary: "Open the link in a mail that asks to confirm an address",
    params: Type.Object(Token),
    async handle({ db, params: { token = "" }, setHeader }) {
      setPageHeaders(setHeader);
      if (!(await findLink(db, "confirm", token))) throw deadLink();
      return confirmPage(token);
    },
  }),

  confirm: endpoint({
    ...posted,
    path: CONFIRM,
    summary: "Confirm an address by the link that was mailed to it",
    params: Type.Object(Token),
    audit: "email_confirmed",
    async handle({ tx, params: { token = "" }, setHeader, audit }) {
      setPageHeaders(setHeader);
      const link = await useLink(tx, "confirm", token);
      const user = link && (await confirmAddress(tx, link));
      if (!user) throw deadLink();
      audit(targetOf(user));
      return confirmedPage();
    },
  }),

  passwordPage: endpoint({
    ...shown,
    path: PASSWORD,
    summary: "Open the link in a mail to choose a new password",
    params: Type.Object(Token),
    async handle({ db, params: { token = "" }, services, setHeader }) {
      setPageHeaders(setHeader);
      if (!(await findLink(db, "reset", token))) throw deadLink();
      return passwordPage(token, (await services.settings.current()).password_minimum_length);
    },
  }),

  password: endpoint({
    ...posted,
    path: PASSWORD,
    summary: "Choose a new password by a mailed link",
    params: Type.Object({
      ...Token,
      password: Type.String({ maxLength: 1024 }),
      password_again: Type.String({ maxLength: 1024 }),
    }),
    audit: "password_reset",
    async prepare({ params: { token = "", password, password_again }, services, setHeader }) {
      setPageHeaders(setHeader);
      const link = await findLink(services.db.read, "reset", token);
      if (!link) throw deadLink();
      await refuseBadPassword(services, link, { token, password, password_again });
      return { digest: await services.passwords.hash(password) };
    },
    async handle({ tx, params: { token = "" }, services, audit, digest }) {
      const link = await useLink(tx, "reset", token);
      const user = link && (await resetPassword(tx, services.jobs, link, digest));
      if (!user) throw deadLink();
      audit(targetOf(user));
      return changedPage();
    },
  }),

  forgottenPage: endpoint({
    ...shown,
    path: FORGOTTEN,
    summary: "Show the form of those who forgot their password",
    params: Type.Object({}),
    handle({ setHeader }) {
      setPageHeaders(setHeader);
      return forgottenPage();
    },
  }),

  forgotten: endpoint({
    ...posted,
    path: FORGOTTEN,
    summary: "Ask for a link to choose a new password",
    params: Type.Object({ email: Type.String({ maxLength: 320 }) }),
    audit: "password_reset_asked",
    async handle({ tx, params, services, setHeader }) {
      setPageHeaders(setHeader);
      await askForReset(services.jobs, tx, params.email.trim().toLowerCase());
      return askedPage();
    },
  }),
};

interface Chosen {
  readonly token: string;
  readonly password: string;
  readonly password_again: string;
}

/** The form comes back with what is wrong, and the link still works. */
async function refuseBadPassword({ db, settings }: Services, link: Link, { token, password, password_again }: Chosen) {
  const user = await userOfReset(db.read, link);
  if (!user) throw deadLink();
  const { password_minimum_length: shortest } = await settings.current();
  const problems: Problems = {};
  checkPassword(problems, password, shortest, user);
  const told = (problems["password"] ?? []).map((problem) => `The password ${problem}.`.replace("..", "."));
  if (password !== password_again) told.push("The two passwords are not the same.");
  if (told.length > 0) throw badPassword(token, shortest, told);
}
