import sanitizeHtml from "sanitize-html";

/** The elements that a text may have: those of Markdown, and a few more of HTML without a behaviour. */
const TAGS = [
  ...["h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "br", "div", "details", "summary"],
  ...["ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"],
  ...["a", "img", "em", "strong", "b", "i", "s", "del", "ins", "u", "code", "kbd", "samp", "var", "sub", "sup"],
  ...["q", "mark", "small", "abbr", "span", "ruby", "rt", "rp", "wbr", "input"],
];

/** Elements whose text is not meant to be read. */
const WITHOUT_TEXT = ["script", "style", "textarea", "option", "noscript", "iframe", "noembed", "noframes", "xmp"];

const LINK_PROTOCOLS = ["http:", "https:", "mailto:"];
const IMAGE_PROTOCOLS = ["http:", "https:"];
const EXTERNAL = "nofollow noreferrer noopener";
/** Deeper elements are left out, and their text stays. */
const MAX_NESTING = 100;

type Attributes = Record<string, string>;

/**
 * Reduces HTML to a list of harmless elements and attributes. There are no ids and names, with which a text could
 * replace what scripts of the page look up, and no styles.
 */
export const sanitize = (html: string, site: string): string =>
  sanitizeHtml(html, {
    allowedTags: TAGS,
    nonTextTags: WITHOUT_TEXT,
    allowedAttributes: {
      a: ["href", "title", "class", "rel"],
      img: ["src", "alt", "title", "width", "height"],
      th: ["align", "colspan", "rowspan"],
      td: ["align", "colspan", "rowspan"],
      ol: ["start"],
      ul: ["class"],
      li: ["class"],
      code: ["class"],
      input: ["type", "class", "disabled", "checked"],
      details: ["open"],
    },
    allowedClasses: {
      a: ["gfm", "gfm-issue", "gfm-epic", "gfm-project_member"],
      ul: ["task-list"],
      li: ["task-list-item"],
      code: [/^language-[\w+#.-]{1,50}$/],
      input: ["task-list-item-checkbox"],
    },
    // Addresses are judged below, as a browser would parse them.
    allowedSchemes: LINK_PROTOCOLS.map((protocol) => protocol.slice(0, -1)),
    allowProtocolRelative: true,
    enforceHtmlBoundary: false,
    nestingLimit: MAX_NESTING,
    transformTags: {
      a: (tagName, { rel: _, ...attribs }) => ({ tagName, attribs: linkAttributes(attribs, site) }),
      img: (tagName, attribs) => ({ tagName, attribs: imageAttributes(attribs, site) }),
      th: aligned,
      td: aligned,
    },
    // Other inputs would be a form.
    exclusiveFilter: ({ tag, attribs }) =>
      tag === "input" && (attribs["type"] !== "checkbox" || attribs["disabled"] === undefined),
  });

function linkAttributes({ href, ...others }: Attributes, site: string): Attributes {
  const url = href === undefined ? undefined : parsed(href, site);
  if (href === undefined || !url || !LINK_PROTOCOLS.includes(url.protocol)) return others;
  return url.host === new URL(site).host ? { href, ...others } : { href, ...others, rel: EXTERNAL };
}

function imageAttributes({ src, ...others }: Attributes, site: string): Attributes {
  const url = src === undefined ? undefined : parsed(src, site);
  return src !== undefined && url && IMAGE_PROTOCOLS.includes(url.protocol) ? { src, ...others } : others;
}

const parsed = (address: string, site: string): URL | undefined => URL.parse(address, site) ?? undefined;

/** Markdown aligns cells by a style. */
function aligned(tagName: string, attribs: Attributes) {
  const align = /^text-align:\s*(left|center|right)$/.exec(attribs["style"] ?? "")?.[1];
  return { tagName, attribs: align === undefined ? attribs : { ...attribs, align } };
}
