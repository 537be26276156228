import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import type { Problems } from "#lib/problems.ts";
import { findLink, type Link, PASSWORD_PURPOSES, useLink } from "#domains/foundation/mails/links.ts";
import { requestReset } from "#domains/foundation/mails/send.ts";
import { targetOf } from "#domains/identity/users/named.ts";
import { checkPassword } from "#domains/identity/users/validate.ts";
import type { Services } from "#services.ts";
import { holderOfLink } from "./access.ts";
import { choosePassword, confirmAddress, userOfLink } from "./actions.ts";
import { setPageHeaders } from "./page.ts";
import {
  badPassword,
  CONFIRM,
  confirmedPage,
  confirmPage,
  deadLink,
  FORGOTTEN,
  forgottenPage,
  linkRequestedPage,
  PASSWORD,
  passwordChangedPage,
  passwordPage,
} from "./pages.ts";

const HTML = plain("text/html; charset=utf-8");
const Token = { token: Type.Optional(Type.String({ maxLength: 255, description: "The secret of the link" })) };

const page = { method: "GET", mount: "root", access: anyone(), returns: HTML } as const;
const form = {
  method: "POST",
  mount: "root",
  access: holderOfLink(),
  returns: HTML,
  status: 200,
  limit: "sign-in",
} as const;

export const accounts = {
  confirmPage: endpoint({
    ...page,
    path: CONFIRM,
    summary: "Open the link in a mail that asks to confirm an address",
    params: Type.Object(Token),
    async handle({ db, params: { token = "" }, setHeader }) {
      setPageHeaders(setHeader);
      if (!(await findLink(db, ["confirm"], token))) throw deadLink();
      return confirmPage(token);
    },
  }),

  confirm: endpoint({
    ...form,
    path: CONFIRM,
    summary: "Confirm an address by the link that was mailed to it",
    params: Type.Object(Token),
    audit: "email_confirmed",
    async handle({ tx, params: { token = "" }, setHeader, audit }) {
      setPageHeaders(setHeader);
      const link = await useLink(tx, ["confirm"], token);
      const user = link && (await confirmAddress(tx, link));
      if (!user) throw deadLink();
      audit(targetOf(user));
      return confirmedPage();
    },
  }),

  passwordPage: endpoint({
    ...page,
    path: PASSWORD,
    summary: "Open a link to choose a password",
    params: Type.Object(Token),
    async handle({ db, params: { token = "" }, services, setHeader }) {
      setPageHeaders(setHeader);
      const link = await findLink(db, PASSWORD_PURPOSES, token);
      const user = link && (await userOfLink(db, link));
      if (!link || !user) throw deadLink();
      const { password_minimum_length: minLength } = await services.settings.current();
      return passwordPage({ ...link, token, username: user.username, minLength });
    },
  }),

  password: endpoint({
    ...form,
    path: PASSWORD,
    summary: "Choose a password by a link that was mailed or handed over",
    params: Type.Object({
      ...Token,
      password: Type.String({ maxLength: 1024 }),
      password_again: Type.String({ maxLength: 1024 }),
    }),
    audit: "password_reset",
    async prepare({ params: { token = "", password, password_again }, services, setHeader }) {
      setPageHeaders(setHeader);
      const link = await findLink(services.db.read, PASSWORD_PURPOSES, token);
      if (!link) throw deadLink();
      await refuseBadPassword(services, link, { token, password, password_again });
      return { digest: await services.passwords.hash(password) };
    },
    async handle({ tx, params: { token = "" }, services, site, audit, digest }) {
      const link = await useLink(tx, PASSWORD_PURPOSES, token);
      const user = link && (await choosePassword(tx, services.jobs, link, digest));
      if (!link || !user) throw deadLink();
      audit({ ...targetOf(user), details: { invitation: link.purpose === "invite" } });
      return passwordChangedPage(link.purpose, user.username, site);
    },
  }),

  forgottenPage: endpoint({
    ...page,
    path: FORGOTTEN,
    summary: "Show the form to request a link to reset a password",
    params: Type.Object({}),
    handle({ setHeader }) {
      setPageHeaders(setHeader);
      return forgottenPage();
    },
  }),

  forgotten: endpoint({
    ...form,
    path: FORGOTTEN,
    summary: "Request a link to choose a new password",
    params: Type.Object({ email: Type.String({ maxLength: 320 }) }),
    audit: "password_reset_asked",
    async handle({ tx, params, services, setHeader }) {
      setPageHeaders(setHeader);
      await requestReset(services.jobs, tx, params.email.trim().toLowerCase());
      return linkRequestedPage();
    },
  }),
};

interface PasswordForm {
  readonly token: string;
  readonly password: string;
  readonly password_again: string;
}

/** Shows the form again with the problems; the link still works. */
async function refuseBadPassword(
  { db, settings }: Services,
  link: Link,
  { token, password, password_again }: PasswordForm,
) {
  const user = await userOfLink(db.read, link);
  if (!user) throw deadLink();
  const { password_minimum_length: minLength } = await settings.current();
  const problems: Problems = {};
  checkPassword(problems, password, minLength, user);
  const messages = (problems["password"] ?? []).map((problem) => `The password ${problem}.`.replace("..", "."));
  if (password !== password_again) messages.push("The two passwords are not the same.");
  if (messages.length > 0) throw badPassword({ ...link, token, username: user.username, minLength }, messages);
}
