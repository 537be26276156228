import { hash } from "node:crypto";
import type { RawSet } from "#http/params/raw.ts";
import { canonicalJson, flattened, isBlank, textOf, truncated } from "./values.ts";

/** What tells an alert from others of its project, and what it was computed from, for people. */
export interface Fingerprint {
  /** Null if nothing identifies the alert: it is grouped with none. */
  readonly digest: Buffer | null;
  readonly groupedBy: GroupedBy;
}

export type GroupedBy =
  | { readonly by: "fingerprint"; readonly value: string }
  | { readonly by: "payload"; readonly without: string[] }
  | { readonly by: "item"; readonly starts_at: string; readonly title: string; readonly query: string | null }
  | { readonly by: "nothing" };

const MAX_SHOWN = 1_000;
/** They differ between reports of the same alert. */
const CHANGING = ["start_time", "end_time", "hosts"];

const digestOf = (text: string) => hash("sha256", text, "buffer");

/** The fingerprint that the sender chose; undefined if it has none. */
export function givenFingerprint(value: unknown): Fingerprint | undefined {
  if (isBlank(value)) return undefined;
  const text = typeof value === "object" && !Array.isArray(value) ? canonicalJson(value) : joined(value);
  return { digest: digestOf(text), groupedBy: { by: "fingerprint", value: truncated(text, MAX_SHOWN) } };
}

/** A list of one value is that value. */
const joined = (value: unknown) =>
  flattened(value)
    .map((part) => textOf(part) ?? canonicalJson(part))
    .join("\n");

/** The whole payload, except what differs between reports of the same alert. */
export function payloadFingerprint(payload: RawSet): Fingerprint {
  const rest = Object.fromEntries(Object.entries(payload).filter(([name]) => !CHANGING.includes(name)));
  if (isBlank(rest)) return UNIDENTIFIED;
  return { digest: digestOf(canonicalJson(rest)), groupedBy: { by: "payload", without: [...CHANGING] } };
}

/** Start, title and query: a tool sends the same start with every report until the alert is resolved. */
export function itemFingerprint(startsAt: string, title: string, query: string | undefined): Fingerprint {
  return {
    digest: digestOf(`${startsAt}/${title}/${query ?? ""}`),
    groupedBy: {
      by: "item",
      starts_at: truncated(startsAt, MAX_SHOWN),
      title: truncated(title, MAX_SHOWN),
      query: query === undefined ? null : truncated(query, MAX_SHOWN),
    },
  };
}

export const UNIDENTIFIED: Fingerprint = { digest: null, groupedBy: { by: "nothing" } };
