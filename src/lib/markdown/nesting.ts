import { TooLargeError } from "./parse.ts";

/** Elements that may be open at once. The parser of the sanitizer goes through all of them for each tag. */
const MAX_OPEN_ELEMENTS = 2000;

const VOID = new Set([
  "area",
  "base",
  "br",
  "col",
  "embed",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "source",
  "track",
  "wbr",
]);
const TAG = /<(\/?)([a-z][^\s/>]*)/gi;

/** Refuses HTML with more elements that were opened and not closed, counted by their names. */
export function refuseDeepHtml(html: string) {
  const open = new Map<string, number>();
  let total = 0;
  for (const [, slash, tag = ""] of html.matchAll(TAG)) {
    const name = tag.toLowerCase();
    const count = open.get(name) ?? 0;
    const change = VOID.has(name) ? 0 : slash === "" ? 1 : count > 0 ? -1 : 0;
    if (change === 0) continue;
    open.set(name, count + change);
    total += change;
    if (total > MAX_OPEN_ELEMENTS) throw new TooLargeError();
  }
}
