const repeated = (part: string) => (length: number) => part.repeat(Math.ceil(length / part.length)).slice(0, length);
const halves = (first: string, second: string) => (length: number) =>
  repeated(first)(length / 2) + repeated(second)(length / 2);
/** A definition of a link and many references to it. */
const referring = (length: number) => `[x]: /${"u".repeat(length / 1000)}\n\n${"[x] ".repeat(length / 8)}`;

/** Texts that take quadratic time in a careless parser. */
export const WORST: Readonly<Record<string, (length: number) => string>> = {
  quotes: repeated(">"),
  "quotes with a lazy line": (length) => `${"> ".repeat(50)}${repeated("a\n")(length)}`,
  lists: repeated("- "),
  "ordered lists": repeated("1. "),
  "quotes in lists": repeated("- a\n> b\n"),
  emphasis: repeated("*a "),
  "strong emphasis": repeated("**a"),
  "mixed emphasis": repeated("*a_"),
  strikethrough: repeated("~~a "),
  "open links": repeated("["),
  "closed links": halves("[", "]"),
  "links in links": halves("[", "](b)"),
  images: repeated("![[]()"),
  references: referring,
  "open destinations": repeated("[a](<b"),
  "code spans": repeated("`a``"),
  comments: repeated("x<!--"),
  "character data": repeated("a<![CDATA["),
  attributes: repeated("a <b c='"),
  entities: repeated("&amp"),
  addresses: repeated("a@b.c "),
  tables: (length) => `|a|b|\n|-|-|\n${repeated("|c|d|\n")(length)}`,
  "wide tables": (length) =>
    `${repeated("|a")(length / 4)}|\n${repeated("|-")(length / 4)}|\n${repeated("|b\n")(length / 2)}`,
  "open elements": repeated("<b>"),
  "elements that others close": halves("<b>", "</i>"),
  "elements closed by the wrong name": repeated("<b></i>"),
  "closed elements": halves("<b>", "</b>"),
  "blocks of elements": repeated("<div>"),
  "lists of elements": repeated("<ul><li>"),
  "foreign elements": repeated("<svg><a>"),
};
