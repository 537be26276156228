import { type Problems, refuse, tooLong } from "#lib/problems.ts";
import { hasPathLetters, isReserved, LETTERS } from "#resources/namespaces/validate.ts";

const FILE_ENDINGS = /\.(js|json|png|jpg|jpeg|gif|svg|ico|css|html|xml|txt|gz|zip)$/i;
const ENDS =
  "can only include non-accented letters, digits, '_', '-' and '.'. It must not start with '-', '_', or '.', " +
  "nor end with '-', '_', '.', '.git', or '.atom'.";

/** Passwords that lists of leaked ones begin with. */
const COMMON = ["password", "12345678", "qwertyui", "letmein", "iloveyou", "welcome1", "changeme", "abcd1234"];

export function checkUsername(problems: Problems, username: string) {
  const length = [...username].length;
  if (length < 2) refuse(problems, "username", "is too short (minimum is 2 characters)");
  if (length > 255) refuse(problems, "username", "is too long (maximum is 255 characters)");
  if (!hasPathLetters(username)) refuse(problems, "username", LETTERS);
  if (!/^[a-z0-9](?:[._-]?[a-z0-9])*$/i.test(username) || /\.(git|atom)$/i.test(username)) {
    refuse(problems, "username", ENDS);
  }
  if (isReserved(username, "top")) refuse(problems, "username", `${username} is a reserved name`);
  else if (FILE_ENDINGS.test(username))
    refuse(problems, "username", "ending with a reserved file extension is not allowed.");
}

export function checkName(problems: Problems, name: string) {
  if (name === "") refuse(problems, "name", "can't be blank");
  tooLong(problems, "name", name, 255);
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
  shortest: number,
  { username, name, email }: Person,
) {
  if ([...password].length < shortest) refuse(problems, "password", `is too short (minimum is ${shortest} characters)`);
  tooLong(problems, "password", password, 128);
  const lower = password.toLowerCase();
  const parts = [username, ...name.split(/\s+/), email, email.split("@")[0] ?? ""];
  const guessable = [...COMMON, ...parts.map((part) => part.toLowerCase()).filter((part) => part.length >= 4)];
  if (guessable.some((part) => lower.includes(part))) {
    refuse(problems, "password", "must not contain commonly used combinations of words and letters");
  }
}

/** Clients know the details of a profile as one part of the user, with the field's name in the text. */
export function detailTooLong(problems: Problems, field: string, text: string, most: number) {
  if ([...text].length <= most) return;
  const title = field.charAt(0).toUpperCase() + field.slice(1).replaceAll("_", " ");
  refuse(problems, "user_detail.base", `${title} is too long (maximum is ${most} characters)`);
}

export function checkWebsite(problems: Problems, url: string) {
  tooLong(problems, "website_url", url, 255);
  if (url !== "" && !/^https?:$/.test(URL.parse(/^[a-z]+:\/\//i.test(url) ? url : `https://${url}`)?.protocol ?? "")) {
    refuse(problems, "website_url", "is not a valid URL");
  }
}

export function checkDiscord(problems: Problems, account: string) {
  if (account !== "" && !/^\d{17,20}$/.test(account))
    refuse(problems, "discord", "must contain only a discord user ID.");
}

export function checkChoices(
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
