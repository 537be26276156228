import { refuseDeepHtml } from "./nesting.ts";
import { type TextLinks, TooLargeError, unsafeHtmlOf } from "./parse.ts";
import { sanitize } from "./sanitize.ts";

export interface RenderTask {
  readonly text: string;
  /** The base URL of the installation; links to elsewhere are marked. */
  readonly site: string;
  readonly textLinks?: TextLinks | undefined;
}

/** The HTML, or that it would be too large or too deep. */
export type Rendered = { readonly html: string } | { readonly problem: "too large" };

export function renderMarkdown({ text, site, textLinks }: RenderTask): Rendered {
  try {
    const html = unsafeHtmlOf(text, textLinks);
    refuseDeepHtml(html);
    return { html: sanitize(html, site) };
  } catch (error) {
    if (error instanceof TooLargeError) return { problem: "too large" };
    throw error;
  }
}
