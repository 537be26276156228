import { escapeHtml } from "#lib/html.ts";

/** A mail before it is rendered as text and HTML. */
export interface Letter {
  /** The same for every attempt, so that a receiver can recognise a duplicate. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly Paragraph[];
  /** The same for all letters about one thing, so that mail programs show them together. */
  readonly thread?: string;
  /** Where a POST ends letters of this kind, also one that the mail program sends (RFC 8058). */
  readonly unsubscribe?: string;
}
export type Paragraph = string | Link | Quote;

interface Link {
  readonly link: string;
  readonly label: string;
}

/** What somebody wrote, with its lines. */
interface Quote {
  readonly quote: string;
}

/** Makes text fit a header: names that users chose may contain line breaks, which would end the header. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();

/** Line breaks are the only control characters of a quote that a reader needs. */
const linesOf = ({ quote }: Quote): string => quote.replaceAll(/\r\n?/g, "\n").replaceAll(/[^\P{Cc}\n\t]/gu, "");

export const textOf = ({ paragraphs }: Letter): string => paragraphs.map((part) => `${textOfPart(part)}\n`).join("\n");

function textOfPart(part: Paragraph): string {
  if (typeof part === "string") return oneLine(part);
  return "quote" in part ? linesOf(part) : `${part.label}:\n${part.link}`;
}

/** The HTML loads nothing from the network, so opening the mail cannot be tracked. */
export const htmlOf = (letter: Letter): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${escapeHtml(oneLine(letter.subject))}</title>
  </head>
  <body>
${letter.paragraphs.map((part) => `    ${htmlOfPart(part)}\n`).join("")}  </body>
</html>
`;

function htmlOfPart(part: Paragraph): string {
  if (typeof part === "string") return `<p>${escapeHtml(oneLine(part))}</p>`;
  if ("quote" in part) return `<blockquote style="white-space: pre-wrap">${escapeHtml(linesOf(part))}</blockquote>`;
  const link = escapeHtml(part.link);
  return `<p>${escapeHtml(part.label)}:<br><a href="${link}">${link}</a></p>`;
}
