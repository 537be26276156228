/** More people of one text are not told. */
const MAX_MENTIONS = 100;
/** People are looked for in the beginning of a text; a longer one is mostly what a program printed. */
const MAX_MENTIONING_LENGTH = 64 * 1024;

const FENCED = /^[ \t>]*(`{3,}|~{3,})/;
// Begins at the first of several backticks, so that a line is read once.
const CODE = /(?<!`)`+[^`]*`+/g;
const MENTION = /(?<![\w./#&@-])@([a-z\d](?:[\w.-]{0,253}[a-z\d])?)(?!\w)/giu;

/** The names of the people whom a text mentions outside of code, in lower case. */
export function mentionsIn(text: string | null): string[] {
  const names = new Set<string>();
  let fence: string | undefined;
  const beginning = text?.slice(0, MAX_MENTIONING_LENGTH) ?? "";
  for (const line of beginning.includes("@") ? beginning.split("\n") : []) {
    const mark = FENCED.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined;
      continue;
    }
    if (fence !== undefined) continue;
    for (const [, name = ""] of line.replaceAll(CODE, " ").matchAll(MENTION)) names.add(name.toLowerCase());
    if (names.size > MAX_MENTIONS) break;
  }
  return [...names].slice(0, MAX_MENTIONS);
}

/** The names that a text mentions and the one before it did not. */
export function newMentions(text: string | null, before: string | null): string[] {
  const known = new Set(mentionsIn(before));
  return mentionsIn(text).filter((name) => !known.has(name));
}
