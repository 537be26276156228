/** Addresses as clients write them, made into what the router knows. */
import { ourPath } from "./aliases.ts";

/** Makes one address that begins with a namespace, such as `/*project.git/info/refs`, into a route and its rewrite. */
export interface NamespaceAddress {
  readonly route: string;
  readonly matches: RegExp;
}

/** The router's form of a path: a leading `*name`, or `*name.git`, becomes one parameter. */
export const routeOf = (path: string): string => path.replace(/^\/\*(\w+)(?:\.git)?\//, "/:$1/");

export function namespaceAddress(path: string): NamespaceAddress | undefined {
  const found = /^\/\*\w+(\.git)?\/(.*)$/.exec(path);
  if (!found) return undefined;
  const rest = (found[2] ?? "").replaceAll(/[.$^+()[\]{}|?\\]/g, String.raw`\$&`).replaceAll(/:\w+/g, "[^/]+");
  // People leave out the `.git`, and git adds nothing.
  const ending = found[1] ? String.raw`(?:\.git)?` : "";
  return { route: routeOf(path), matches: new RegExp(`^/([^/].*?)${ending}/(${rest})$`) };
}

/** An address that ends in the full path of a project or group, whose own name `.json` may end. */
const ENDS_IN_FULL_PATH = /^\/api\/v4\/(?:projects|groups|namespaces)\/(?!\d+\.json$)[^/]+$/;
/** One that ends in the name of a file, branch, tag or commit. */
const ENDS_IN_NAME = /\/repository\/(?:files|branches|tags|commits)\/(?![0-9a-f]{40}\.json$)[^/]+$/;

const endsInName = (path: string) => ENDS_IN_FULL_PATH.test(path) || ENDS_IN_NAME.test(path);

/** Collapses double slashes, drops a trailing slash and a `.json` ending, and encodes a leading namespace. */
export function rewriteTarget(target: string, addresses: readonly NamespaceAddress[]): string {
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 || mark === target.length - 1 ? "" : target.slice(mark);
  let plain = path.includes("//") ? path.replaceAll(/\/{2,}/g, "/") : path;
  if (plain.length > 1 && plain.endsWith("/")) plain = plain.slice(0, -1);
  const bare = plain.endsWith(".json") && !endsInName(plain) ? plain.slice(0, -5) : plain;
  if (plain.startsWith("/api/")) return ourPath(bare) + query;
  if (!plain.startsWith("/-/")) {
    for (const { matches } of addresses) {
      const found = matches.exec(bare);
      if (found) return `/${oneSegment(found[1] ?? "")}/${found[2] ?? ""}${query}`;
    }
  }
  return plain + query;
}

// What cannot be decoded stays as it is; the router refuses it.
function oneSegment(path: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(path));
  } catch {
    return path;
  }
}
