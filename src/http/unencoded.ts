import Type, { type TSchema } from "typebox";
import type { Endpoint } from "./endpoint.ts";
import { urlOf } from "./paths.ts";

/** Longer paths get no hint, so that comparing them costs little. */
const MAX_SEGMENTS = 40;

/** A name in one segment or several. What begins with a number and a slash is an id and a path that does not exist. */
const NAME = String.raw`(?:[^/]+|(?!\d+/)[^/]+(?:/[^/]+)+?)`;

/** Returns whether a path that matches no endpoint would match one if slashes in names were written as `%2F`. */
export function unencodedNames(endpoints: readonly Endpoint[]): (path: string) => boolean {
  const patterns = [...new Set(endpoints.flatMap((endpoint) => patternOf(endpoint) ?? []))].map(
    (pattern) => new RegExp(`^${pattern}$`),
  );
  return (path) =>
    !/%2f/i.test(path) && path.split("/").length <= MAX_SEGMENTS && patterns.some((pattern) => pattern.test(path));
}

/** The path of an endpoint in which names may have several segments; undefined where nothing is named by a text. */
function patternOf(endpoint: Endpoint): string | undefined {
  if (endpoint.mount === "root") return undefined;
  let hasNames = false;
  const pattern = urlOf(endpoint)
    .replaceAll(/[.$^+()[\]{}|?\\]/g, String.raw`\$&`)
    .replaceAll(/:(\w+)/g, (_, name: string) => {
      if (!isText(endpoint.params.properties[name])) return "[^/]+";
      hasNames = true;
      return NAME;
    });
  return hasNames ? pattern : undefined;
}

function isText(schema: TSchema | undefined): boolean {
  if (!schema) return false;
  return Type.IsUnion(schema) ? schema.anyOf.some(isText) : Type.IsString(schema);
}
