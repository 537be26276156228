const MAX_BYTES = 4096;
const MAX_PART_BYTES = 255;
const MAX_PARTS = 100;

/** Characters that HFS+ ignores when it compares names. */
const IGNORED_BY_HFS = /[\u200C-\u200F\u202A-\u202E\u206A-\u206F\uFEFF]/g;
/** The end of a name that NTFS ignores. */
const END_ON_NTFS = /[ .]*(?::.*)?$/s;
/** A short name that NTFS may give to a file that git itself reads. */
const SHORT_NAME = /^(?:g(?:i[^~]{0,4})?|m(?:a[^~]{0,4})?)?~[1-9]/i;

/** Files that git itself reads, in a checkout and when it checks objects. */
const READ_BY_GIT: ReadonlySet<string> = new Set([".gitmodules", ".gitattributes", ".gitignore", ".mailmap"]);

/** Returns why a commit may not contain a path, or undefined. Includes all paths that git's own check refuses. */
export function pathProblem(path: string): string | undefined {
  if (path === "") return "is empty";
  if (Buffer.byteLength(path) > MAX_BYTES) return "is too long";
  if (/\p{Cc}/u.test(path)) return "contains control characters";
  // Windows would take it for a separator, and the path for another one than was checked.
  if (path.includes("\\")) return "contains a backslash";
  const parts = path.split("/");
  if (parts.length > MAX_PARTS) return "has too many directories";
  for (const part of parts) {
    const problem = partProblem(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function partProblem(part: string): string | undefined {
  if (part === "") return "has an empty part";
  if (part === "." || part === "..") return "cannot include directory traversal";
  if (Buffer.byteLength(part) > MAX_PART_BYTES) return "has a part that is too long";
  // The name as other file systems see it.
  const folded = part.replaceAll(IGNORED_BY_HFS, "").toLowerCase().replace(END_ON_NTFS, "");
  if (folded === ".git" || SHORT_NAME.test(part)) return "has a part that stands for git's own directory";
  if (READ_BY_GIT.has(folded) && part !== folded) return `has a part that some systems take for ${folded}`;
  return undefined;
}

/** The parent directories of a path, from the outermost. */
export function directoriesOf(path: string): string[] {
  const found: string[] = [];
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) found.push(path.slice(0, at));
  return found;
}
