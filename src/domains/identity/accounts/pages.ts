import type { Purpose } from "#domains/foundation/mails/links.ts";
import { pageRefusal, renderField, renderForm, renderHidden, renderPage } from "./page.ts";

export const CONFIRM = "/-/account/confirm";
export const PASSWORD = "/-/account/password";
export const FORGOTTEN = "/-/account/forgotten";

/** The same answer for a link that was used, replaced, expired or never existed, so that nothing is revealed. */
export const deadLink = () =>
  pageRefusal("missing", {
    title: "This link does not work any more",
    text:
      "Each link works once and for a limited time, and only the newest one counts. To choose a password, ask for " +
      "another link below, or an administrator for another invitation. To confirm an address, add it to your account " +
      "again or ask an administrator.",
    form: forgottenForm(),
  });

/** Mail scanners open links, so opening one shows this form and does nothing else. */
export const confirmPage = (token: string) =>
  renderPage({
    title: "Confirm your email address",
    text: "Confirm that the address to which this link was mailed is yours.",
    form: renderForm(CONFIRM, "Confirm", renderHidden("token", token)),
  });

export const confirmedPage = () =>
  renderPage({ title: "The address is confirmed", text: "You can close this page and sign in." });

const passwordForm = (token: string) =>
  renderForm(
    PASSWORD,
    "Set the password",
    renderHidden("token", token),
    renderField({ name: "password", label: "New password", type: "password", autocomplete: "new-password" }),
    renderField({ name: "password_again", label: "Once more", type: "password", autocomplete: "new-password" }),
  );

/** For whom the form to choose a password is shown, and for which kind of link. */
interface PasswordFormContext {
  readonly purpose: Purpose;
  readonly token: string;
  readonly username: string;
  readonly minLength: number;
}

const passwordPageContent = ({ purpose, token, username, minLength }: PasswordFormContext) => ({
  title: purpose === "invite" ? "Choose your password" : "Choose a new password",
  text:
    `Your username is ${username}. The password has at least ${minLength} characters.` +
    (purpose === "invite" ? "" : " Every session of your account ends."),
  form: passwordForm(token),
});

export const passwordPage = (context: PasswordFormContext) => renderPage(passwordPageContent(context));

export const badPassword = (context: PasswordFormContext, problems: readonly string[]) =>
  pageRefusal("invalid", { ...passwordPageContent(context), problems });

/** There is no page to sign in yet, so this one says how to do it from a terminal. */
export const passwordChangedPage = (purpose: Purpose, username: string, site: string) =>
  renderPage({
    title: purpose === "invite" ? "Your password is set" : "Your password was changed",
    text: `You can sign in as ${username} now. The reference of the API is at ${site}/-/api.`,
    steps: [
      {
        text: "Sign in; the first line waits for your password:",
        commands:
          "read -rs PASSWORD\n" +
          `curl -c jar -d login=${username} --data-urlencode "password=$PASSWORD" ${site}/api/v4/session`,
      },
      {
        text: "Create an access token for git and for programs, with the csrf_token of that answer:",
        commands:
          "curl -b jar -H 'Sec-Fetch-Site: same-origin' -H 'X-CSRF-Token: …' -d name=laptop -d scopes=api \\\n" +
          `  ${site}/api/v4/user/personal_access_tokens`,
      },
    ],
  });

const forgottenForm = () =>
  renderForm(
    FORGOTTEN,
    "Mail me a link",
    renderField({ name: "email", label: "Email address", type: "email", autocomplete: "email" }),
  );

export const forgottenPage = () =>
  renderPage({
    title: "Choose a new password",
    text: "A link to do so is mailed to you, if the address is a confirmed one of an account.",
    form: forgottenForm(),
  });

/** The same for every address, so that it does not reveal whether an account exists. */
export const linkRequestedPage = () =>
  renderPage({
    title: "Look into your mail",
    text:
      "If the address is a confirmed one of an account that may sign in, a link is on its way. It can take some " +
      "minutes; within five minutes no second one is sent.",
  });
