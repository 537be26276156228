import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A block of code in a guide. */
export interface Block {
  /** The heading that it stands under. */
  readonly heading: string;
  readonly language: string;
  readonly text: string;
}

/** The blocks of a page in `docs/guides`, in their order. */
export function readGuide(name: string): Block[] {
  const page = readFileSync(join(import.meta.dirname, "../../docs/guides", name), "utf8");
  const blocks: Block[] = [];
  let heading = "";
  for (const [, title, language = "", text = ""] of page.matchAll(/^#+ (.+)$|^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (title === undefined) blocks.push({ heading, language, text });
    else heading = title;
  }
  return blocks;
}

/** The text of the only block under a heading. */
export function blockUnder(blocks: readonly Block[], heading: string): string {
  const found = blocks.filter((block) => block.heading === heading);
  if (found.length !== 1) throw new Error(`${found.length} blocks of code under "${heading}" instead of one`);
  return found[0]?.text ?? "";
}

/** Replaces parts of a text; each must be there. */
export function substitute(text: string, replacements: Readonly<Record<string, string>>): string {
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`"${from}" is not in the guide`);
    text = text.replaceAll(from, to);
  }
  return text;
}
