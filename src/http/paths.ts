/** Rewrites the paths that clients send to those that the router knows. */
import type { Endpoint } from "./endpoint.ts";

export const API = "/api/v4";

/** The router's form of an endpoint's path: a leading `*name`, or `*name.git`, becomes one parameter. */
export const urlOf = ({ mount, path }: Endpoint): string =>
  mount === "root" ? path.replace(/^\/\*(\w+)(?:\.\w+)?\//, "/:$1/") : API + path;

/** The paths that are rewritten before a request is routed. */
export interface Rewrites {
  /** Paths that begin with a name of several segments, such as `/*project.git/info/refs`; split into name and rest. */
  readonly wildcards: readonly RegExp[];
  /** Paths that end in a name and `.json`, which is part of the name unless it follows an id. */
  readonly names: readonly { readonly path: RegExp; readonly isId: (text: string) => boolean }[];
}

export const rewritesOf = (endpoints: readonly Endpoint[]): Rewrites => ({
  wildcards: endpoints.flatMap(({ path }) => wildcardPattern(path) ?? []),
  names: endpoints.flatMap((endpoint) => {
    const { formatSuffixAfter: isId } = endpoint;
    const [prefix = ""] = /^.*\/(?=:\w+$)/.exec(urlOf(endpoint)) ?? [];
    return isId ? [{ path: new RegExp(`^${patternOf(prefix)}([^/]+)\\.json$`), isId }] : [];
  }),
});

function wildcardPattern(path: string): RegExp | undefined {
  const [, suffix, rest = ""] = /^\/\*\w+(\.\w+)?\/(.*)$/.exec(path) ?? [];
  if (rest === "") return undefined;
  // People leave out the suffix, and git adds nothing.
  const ending = suffix === undefined ? "" : `(?:${patternOf(suffix)})?`;
  return new RegExp(`^/([^/].*?)${ending}/(${patternOf(rest)})$`);
}

/** Whether a segment is the id of a row, where it could also be a name. */
export const isNumericId = (segment: string) => /^\d+$/.test(segment);

const patternOf = (path: string) => path.replaceAll(/[.$^+()[\]{}|?\\]/g, String.raw`\$&`).replaceAll(/:\w+/g, "[^/]+");

/** Collapses double slashes, drops a trailing slash and a `.json` suffix, and encodes a leading name of many segments. */
export function rewriteTarget(target: string, rewrites: Rewrites): string {
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 || mark === target.length - 1 ? "" : target.slice(mark);
  let plain = path.includes("//") ? path.replaceAll(/\/{2,}/g, "/") : path;
  if (plain.length > 1 && plain.endsWith("/")) plain = plain.slice(0, -1);
  const bare = plain.endsWith(".json") && !endsInName(plain, rewrites) ? plain.slice(0, -5) : plain;
  if (plain.startsWith("/api/")) return bare + query;
  if (!plain.startsWith("/-/")) {
    for (const wildcard of rewrites.wildcards) {
      const found = wildcard.exec(bare);
      if (found) return `/${oneSegment(found[1] ?? "")}/${found[2] ?? ""}${query}`;
    }
  }
  return plain + query;
}

const endsInName = (plain: string, { names }: Rewrites) =>
  names.some(({ path, isId }) => {
    const name = path.exec(plain)?.[1];
    return name !== undefined && !isId(name);
  });

// An invalid path stays as it is; the router refuses it.
function oneSegment(path: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(path));
  } catch {
    return path;
  }
}
