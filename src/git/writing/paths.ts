const MOST_BYTES = 4096;
const MOST_PART_BYTES = 255;
const MOST_PARTS = 100;

/** What HFS+ leaves out when it compares names. */
const IGNORED_BY_HFS = /[\u200C-\u200F\u202A-\u202E\u206A-\u206F\uFEFF]/g;
/** What NTFS takes for the end of a name. */
const END_ON_NTFS = /[ .]*(?::.*)?$/s;
/** A short name that NTFS may have given to a file that git itself reads. */
const SHORT_NAME = /^(?:g(?:i[^~]{0,4})?|m(?:a[^~]{0,4})?)?~[1-9]/i;

/** Files that git reads by itself, when they are checked out and when objects are checked. */
const READ_BY_GIT: ReadonlySet<string> = new Set([".gitmodules", ".gitattributes", ".gitignore", ".mailmap"]);

/** Why no file of a commit may have a path, or undefined; what git's own check of objects refuses is among it. */
export function pathProblem(path: string): string | undefined {
  if (path === "") return "is empty";
  if (Buffer.byteLength(path) > MOST_BYTES) return "is too long";
  if (/\p{Cc}/u.test(path)) return "contains control characters";
  // Where it separates directories, it would lead out of the one that all looked at.
  if (path.includes("\\")) return "contains a backslash";
  const parts = path.split("/");
  if (parts.length > MOST_PARTS) return "has too many directories";
  for (const part of parts) {
    const problem = partProblem(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function partProblem(part: string): string | undefined {
  if (part === "") return "has an empty part";
  if (part === "." || part === "..") return "cannot include directory traversal";
  if (Buffer.byteLength(part) > MOST_PART_BYTES) return "has a part that is too long";
  const elsewhere = part.replaceAll(IGNORED_BY_HFS, "").toLowerCase().replace(END_ON_NTFS, "");
  if (elsewhere === ".git" || SHORT_NAME.test(part)) return "has a part that stands for git's own directory";
  if (READ_BY_GIT.has(elsewhere) && part !== elsewhere) return `has a part that some systems take for ${elsewhere}`;
  return undefined;
}

/** The directories that a path stands in, from the outermost. */
export function directoriesOf(path: string): string[] {
  const found: string[] = [];
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) found.push(path.slice(0, at));
  return found;
}
