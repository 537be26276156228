import MarkdownIt, { type StateCore, type Token } from "markdown-it";

/** A link that takes the place of a text such as a mention. */
export interface TextLink {
  readonly href: string;
  readonly title: string;
  readonly className: string;
}

/** The texts to link: what they look like, and the link of each that has one. */
export interface TextLinks {
  /** With the flags `g` and `u`. */
  readonly pattern: RegExp;
  readonly links: ReadonlyMap<string, TextLink>;
}

/** What is passed to the rules of one text. */
interface RenderEnv {
  readonly textLinks?: TextLinks | undefined;
}

/** The addresses and titles of links and images together; one definition may be referred to many times. */
const MAX_ATTRIBUTE_LENGTH = 4 * 1024 ** 2;

/** The HTML of a text would be much larger than it is, or nested too deep. */
export class TooLargeError extends Error {}

const markdown = new MarkdownIt({ html: true, linkify: true });
// A name such as README.md is no host.
markdown.linkify.set({ fuzzyLink: false });
markdown.core.ruler.push("task_lists", markTaskLists);
markdown.core.ruler.push("text_links", (state) => {
  const { textLinks } = state.env as RenderEnv;
  if (textLinks) for (const token of state.tokens) if (token.children) linkTexts(state, token, textLinks);
});
markdown.core.ruler.push("attribute_length", boundAttributes);

/** The HTML of a text, in which everything that its author wrote as HTML is left as it is. */
export const unsafeHtmlOf = (text: string, textLinks?: TextLinks): string =>
  markdown.render(text, { textLinks } satisfies RenderEnv);

const TASK = /^\[([ xX])\](?=\s)/;

/** Turns `[ ]` and `[x]` at the beginning of list items into checkboxes that nobody can click. */
function markTaskLists({ tokens, Token }: StateCore) {
  const lists: Token[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type.endsWith("_list_open")) lists.push(token);
    if (token.type.endsWith("_list_close")) lists.pop();
    const inline = tokens[at + 2];
    const text = inline?.type === "inline" ? inline.children?.[0] : undefined;
    const mark = token.type === "list_item_open" && text?.type === "text" ? TASK.exec(text.content) : null;
    if (!mark || !text) continue;
    text.content = text.content.slice(mark[0].length);
    const checkbox = new Token("task_checkbox", "input", 0);
    checkbox.attrs = [
      ["type", "checkbox"],
      ["class", "task-list-item-checkbox"],
      ["disabled", ""],
      ...(mark[1] === " " ? [] : [["checked", ""] satisfies [string, string]]),
    ];
    inline?.children?.unshift(checkbox);
    token.attrSet("class", "task-list-item");
    lists.at(-1)?.attrSet("class", "task-list");
  }
}

/** Elements in whose text nothing is linked. */
const UNLINKED_TAG = /^<(\/?)(?:a|code|pre)\b/i;

function linkTexts({ Token }: StateCore, inline: Token, textLinks: TextLinks) {
  let depth = 0;
  inline.children = (inline.children ?? []).flatMap((token) => {
    if (token.type === "link_open") depth++;
    if (token.type === "link_close") depth--;
    const tag = token.type === "html_inline" ? UNLINKED_TAG.exec(token.content) : null;
    if (tag) depth = Math.max(depth + (tag[1] === "" ? 1 : -1), 0);
    return token.type === "text" && depth === 0 ? splitAtLinks(Token, token, textLinks) : [token];
  });
}

function splitAtLinks(Tokens: typeof Token, { content }: Token, { pattern, links }: TextLinks): Token[] {
  const parts: Token[] = [];
  const add = (type: string, tag: string, nesting: -1 | 0 | 1, text = "") => {
    const token = new Tokens(type, tag, nesting);
    token.content = text;
    parts.push(token);
    return token;
  };
  let end = 0;
  for (const { 0: text, index } of content.matchAll(pattern)) {
    const link = links.get(text);
    if (!link) continue;
    add("text", "", 0, content.slice(end, index));
    add("link_open", "a", 1).attrs = [
      ["href", link.href],
      ["class", link.className],
      ["title", link.title],
    ];
    add("text", "", 0, text);
    add("link_close", "a", -1);
    end = index + text.length;
  }
  add("text", "", 0, content.slice(end));
  return parts;
}

function boundAttributes({ tokens }: StateCore) {
  let length = 0;
  for (const { children } of tokens) {
    for (const { attrs } of children ?? []) {
      for (const [, value] of attrs ?? []) length += String(value).length;
      if (length > MAX_ATTRIBUTE_LENGTH) throw new TooLargeError();
    }
  }
}
