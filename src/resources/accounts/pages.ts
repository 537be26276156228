import { fieldOf, formOf, hidden, pageOf, refusedPage } from "./page.ts";

export const CONFIRM = "/-/account/confirm";
export const PASSWORD = "/-/account/password";
export const FORGOTTEN = "/-/account/forgotten";

/** One answer for a link that was used, replaced, too old or never there: nothing is told about any of them. */
export const deadLink = () =>
  refusedPage("missing", {
    title: "This link does not work any more",
    text:
      "Each link works once and for a limited time, and only the newest one counts. To choose a password, ask for " +
      "another link below. To confirm an address, add it to your account again or ask an administrator.",
    form: askForm(),
  });

/** Mail scanners open links, so opening one shows this form and does nothing else. */
export const confirmPage = (token: string) =>
  pageOf({
    title: "Confirm your email address",
    text: "Confirm that the address to which this link was mailed is yours.",
    form: formOf(CONFIRM, "Confirm", hidden("token", token)),
  });

export const confirmedPage = () =>
  pageOf({ title: "The address is confirmed", text: "You can close this page and sign in." });

const passwordForm = (token: string) =>
  formOf(
    PASSWORD,
    "Change the password",
    hidden("token", token),
    fieldOf({ name: "password", label: "New password", type: "password", autocomplete: "new-password" }),
    fieldOf({ name: "password_again", label: "Once more", type: "password", autocomplete: "new-password" }),
  );

const choose = (token: string, shortest: number) => ({
  title: "Choose a new password",
  text: `It has at least ${shortest} characters. Every session of your account ends.`,
  form: passwordForm(token),
});

export const passwordPage = (token: string, shortest: number) => pageOf(choose(token, shortest));

export const badPassword = (token: string, shortest: number, problems: readonly string[]) =>
  refusedPage("invalid", { ...choose(token, shortest), problems });

export const changedPage = () =>
  pageOf({ title: "Your password was changed", text: "You can close this page and sign in with the new one." });

const askForm = () =>
  formOf(
    FORGOTTEN,
    "Mail me a link",
    fieldOf({ name: "email", label: "Email address", type: "email", autocomplete: "email" }),
  );

export const forgottenPage = () =>
  pageOf({
    title: "Choose a new password",
    text: "A link to do so is mailed to you, if the address is a confirmed one of an account.",
    form: askForm(),
  });

/** The same whoever the address belongs to, if to anybody. */
export const askedPage = () =>
  pageOf({
    title: "Look into your mail",
    text:
      "If the address is a confirmed one of an account that may sign in, a link is on its way. It can take some " +
      "minutes; within five minutes no second one is sent.",
  });
