import { checkLength, type Problems, refuse } from "#lib/problems.ts";

/** First path segments that the instance uses itself, or that name files at its root. */
const TOP_LEVEL = new Set([
  "-",
  ".well-known",
  "404.html",
  "422.html",
  "500.html",
  "502.html",
  "503.html",
  "admin",
  "api",
  "apple-touch-icon.png",
  "apple-touch-icon-precomposed.png",
  "assets",
  "dashboard",
  "deploy.html",
  "explore",
  "favicon.ico",
  "favicon.png",
  "files",
  "groups",
  "health",
  "health_check",
  "help",
  "import",
  "jwt",
  "login",
  "oauth",
  "profile",
  "projects",
  "public",
  "robots.txt",
  "s",
  "search",
  "sitemap",
  "sitemap.xml",
  "sitemap.xml.gz",
  "slash-command-logo.png",
  "snippets",
  "unsubscribes",
  "uploads",
  "users",
  "v2",
]);

/** Path segments that have a meaning below a group or project. */
const BELOW = new Set([
  "-",
  "badges",
  "blame",
  "blob",
  "builds",
  "commits",
  "create",
  "create_dir",
  "edit",
  "environments",
  "files",
  "find_file",
  "info",
  "new",
  "preview",
  "raw",
  "refs",
  "tree",
  "update",
  "wikis",
]);

export const LETTERS =
  "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'.";

export const hasPathLetters = (path: string) => /^[\w.][\w.-]*$/.test(path) && !/(\.|\.git|\.atom)$/i.test(path);

/** Whether a path is reserved at the top level, or below a group or user. */
export const isReserved = (path: string, position: "top" | "below") =>
  (position === "top" ? TOP_LEVEL : BELOW).has(path.toLowerCase());

/** Checks the path of a top-level group, or of a group or project below another namespace. */
export function checkPath(problems: Problems, path: string, position: "top" | "below") {
  checkLength(problems, "path", path, 255);
  if (!hasPathLetters(path)) refuse(problems, "path", LETTERS);
  else if (isReserved(path, position)) refuse(problems, "path", `${path} is a reserved name`);
}

const SIGNS = String.raw`\p{L}\p{N}\p{Extended_Pictographic}\p{RI}_`;
const FURTHER_CHARACTERS = String.raw`${SIGNS}\p{M}\p{Emoji_Modifier}\u200D. \-`;
const GROUP_NAME = new RegExp(`^[${SIGNS}][${FURTHER_CHARACTERS}()]*$`, "u");
const PROJECT_NAME = new RegExp(`^[${SIGNS}][${FURTHER_CHARACTERS}+]*$`, "u");

export function checkGroupName(problems: Problems, name: string) {
  checkLength(problems, "name", name, 255);
  if (!GROUP_NAME.test(name)) {
    const letters = "can contain only letters, digits, emoji, '_', '.', dash, space, parenthesis.";
    refuse(problems, "name", `${letters} It must start with letter, digit, emoji or '_'.`);
  }
}

export function checkProjectName(problems: Problems, name: string) {
  checkLength(problems, "name", name, 255);
  if (!PROJECT_NAME.test(name)) {
    const letters = "can contain only letters, digits, emoji, '_', '.', '+', dashes, or spaces.";
    refuse(problems, "name", `${letters} It must start with a letter, digit, emoji, or '_'.`);
  }
}
