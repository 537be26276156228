import { checkLength, type Problems, refuse } from "#lib/problems.ts";
import { hasPathLetters, isReserved, LETTERS } from "#domains/foundation/namespaces/validate.ts";

const FILE_ENDINGS = /\.(js|json|png|jpg|jpeg|gif|svg|ico|css|html|xml|txt|gz|zip)$/i;
const USERNAME_FORM =
  "can only include non-accented letters, digits, '_', '-' and '.'. It must not start with '-', '_', or '.', " +
  "nor end with '-', '_', '.', '.git', or '.atom'.";

/** The most frequent passwords in lists of leaked ones. */
const COMMON_PASSWORDS = [
  "password",
  "12345678",
  "qwertyui",
  "letmein",
  "iloveyou",
  "welcome1",
  "changeme",
  "abcd1234",
];

export function checkUsername(problems: Problems, username: string) {
  const length = [...username].length;
  if (length < 2) refuse(problems, "username", "is too short (minimum is 2 characters)");
  if (length > 255) refuse(problems, "username", "is too long (maximum is 255 characters)");
  if (!hasPathLetters(username)) refuse(problems, "username", LETTERS);
  if (!/^[a-z0-9](?:[._-]?[a-z0-9])*$/i.test(username) || /\.(git|atom)$/i.test(username)) {
    refuse(problems, "username", USERNAME_FORM);
  }
  if (isReserved(username, "top")) refuse(problems, "username", `${username} is a reserved name`);
  else if (FILE_ENDINGS.test(username))
    refuse(problems, "username", "ending with a reserved file extension is not allowed.");
}

export function checkName(problems: Problems, name: string) {
  if (name === "") refuse(problems, "name", "can't be blank");
  checkLength(problems, "name", name, 255);
}

export function checkEmail(problems: Problems, field: string, email: string) {
  if (email.length > 254 || !/^[^\s@<>",;:()[\]\\]{1,64}@[^\s@<>"',;:()[\]\\]+$/.test(email) || !isHost(email)) {
    refuse(problems, field, "is invalid");
  }
}

const isHost = (email: string) =>
  email
    .slice(email.indexOf("@") + 1)
    .split(".")
    .every((label) => /^[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u.test(label));

interface Person {
  readonly username: string;
  readonly name: string;
  readonly email: string;
}

export function checkPassword(
  problems: Problems,
  password: string,
  minLength: number,
  { username, name, email }: Person,
) {
  if ([...password].length < minLength)
    refuse(problems, "password", `is too short (minimum is ${minLength} characters)`);
  checkLength(problems, "password", password, 128);
  const lower = password.toLowerCase();
  const parts = [username, ...name.split(/\s+/), email, email.split("@")[0] ?? ""];
  const guessable = [
    ...COMMON_PASSWORDS,
    ...parts.map((part) => part.toLowerCase()).filter((part) => part.length >= 4),
  ];
  if (guessable.some((part) => lower.includes(part))) {
    refuse(problems, "password", "must not contain commonly used combinations of words and letters");
  }
}

/** Clients expect problems of profile details under one key, with the field's name in the message. */
export function checkDetailLength(problems: Problems, field: string, text: string, maxLength: number) {
  if ([...text].length <= maxLength) return;
  const title = field.charAt(0).toUpperCase() + field.slice(1).replaceAll("_", " ");
  refuse(problems, "user_detail.base", `${title} is too long (maximum is ${maxLength} characters)`);
}

export function checkWebsite(problems: Problems, url: string) {
  checkLength(problems, "website_url", url, 255);
  if (url !== "" && !/^https?:$/.test(URL.parse(/^[a-z]+:\/\//i.test(url) ? url : `https://${url}`)?.protocol ?? "")) {
    refuse(problems, "website_url", "is not a valid URL");
  }
}

/** Checks the name of a time zone; JavaScript takes offsets such as +02:00 as well, which are no names. */
export function checkTimeZone(problems: Problems, name: string) {
  if (!/^[a-z]/i.test(name) || !isTimeZone(name)) refuse(problems, "timezone", "is not a known time zone");
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

export function checkDiscord(problems: Problems, account: string) {
  if (account !== "" && !/^\d{17,20}$/.test(account))
    refuse(problems, "discord", "must contain only a discord user ID.");
}

export function checkThemes(
  problems: Problems,
  { theme_id, color_scheme_id }: { theme_id?: number; color_scheme_id?: number },
) {
  if (theme_id !== undefined && (theme_id < 1 || theme_id > 11))
    refuse(problems, "theme_id", `${theme_id} is not a valid theme`);
  if (color_scheme_id !== undefined && (color_scheme_id < 1 || color_scheme_id > 6)) {
    refuse(problems, "color_scheme_id", `${color_scheme_id} is not a valid color scheme`);
  }
}

export function checkProjectsLimit(problems: Problems, limit: number) {
  if (limit < 0) refuse(problems, "projects_limit", "must be greater than or equal to 0");
}
