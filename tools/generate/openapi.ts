import { isDeepStrictEqual } from "node:util";
import type { OpenApi } from "#http/openapi.ts";

/** The whole document, assembled from those of the domains. A name may not mean different things in two of them. */
export function mergeDocuments(documents: readonly OpenApi[]): OpenApi {
  return documents.reduce((whole, part) => merged(whole, part, "") as OpenApi);
}

const union = (one: readonly unknown[], other: readonly unknown[]): unknown[] => [
  ...one,
  ...other.filter((value) => !one.some((known) => isDeepStrictEqual(known, value))),
];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function merged(one: unknown, other: unknown, at: string): unknown {
  if (isDeepStrictEqual(one, other)) return one;
  if (at === "/tags" && Array.isArray(one) && Array.isArray(other)) return union(one, other);
  if (!isObject(one) || !isObject(other)) throw new Error(`${at} differs between domains`);
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].map((name) => {
      if (!(name in other)) return [name, one[name]];
      return [name, name in one ? merged(one[name], other[name], `${at}/${name}`) : other[name]];
    }),
  );
}
