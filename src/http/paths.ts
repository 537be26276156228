/** Addresses as clients write them, made into what the router knows. */
import { ourPath } from "./aliases.ts";

/** Makes one address that begins with a namespace, such as `/*project.git/info/refs`, into a route and its rewrite. */
export interface NamespaceAddress {
  readonly route: string;
  readonly matches: RegExp;
}

/** The router's form of a path: a leading `*name` becomes one parameter with a slash of its own behind it. */
export const routeOf = (path: string): string => path.replace(/^\/\*(\w+)\/?/, "/:$1/");

export function namespaceAddress(path: string): NamespaceAddress | undefined {
  const found = /^\/\*\w+(.*)$/.exec(path);
  if (!found) return undefined;
  const rest = (found[1] ?? "").replaceAll(/[.$^+()[\]{}|?\\]/g, String.raw`\$&`).replaceAll(/:\w+/g, "[^/]+");
  return {
    route: routeOf(path),
    matches: new RegExp(`^/([^/].*?)${rest.startsWith("/") ? "/" : ""}(${rest.replace(/^\//, "")})$`),
  };
}

/** An address that ends in the full path of a project or group, whose own name `.json` may end. */
const ENDS_IN_FULL_PATH = /^\/api\/v4\/(?:projects|groups|namespaces)\/(?!\d+\.json$)[^/]+$/;

/** Collapses double slashes, drops a trailing slash and a `.json` ending, and encodes a leading namespace. */
export function rewriteTarget(target: string, addresses: readonly NamespaceAddress[]): string {
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 || mark === target.length - 1 ? "" : target.slice(mark);
  let plain = path.includes("//") ? path.replaceAll(/\/{2,}/g, "/") : path;
  if (plain.length > 1 && plain.endsWith("/")) plain = plain.slice(0, -1);
  const bare = plain.endsWith(".json") && !ENDS_IN_FULL_PATH.test(plain) ? plain.slice(0, -5) : plain;
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
