import { escapeHtml } from "#lib/html.ts";

/** A mail before it is rendered as text and HTML. */
export interface Letter {
  /** The same for every attempt, so that a receiver can recognise a duplicate. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly Paragraph[];
}
export type Paragraph = string | Link;

interface Link {
  readonly link: string;
  readonly label: string;
}

/** Makes text fit a header: names that users chose may contain line breaks, which would end the header. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();

export const textOf = ({ paragraphs }: Letter): string =>
  paragraphs.map((part) => `${typeof part === "string" ? oneLine(part) : `${part.label}:\n${part.link}`}\n`).join("\n");

/** The HTML loads nothing from the network, so opening the mail cannot be tracked. */
export const htmlOf = (letter: Letter): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${escapeHtml(oneLine(letter.subject))}</title>
  </head>
  <body>
${letter.paragraphs.map((part) => `    <p>${htmlOfPart(part)}</p>\n`).join("")}  </body>
</html>
`;

function htmlOfPart(part: Paragraph): string {
  if (typeof part === "string") return escapeHtml(oneLine(part));
  const link = escapeHtml(part.link);
  return `${escapeHtml(part.label)}:<br><a href="${link}">${link}</a>`;
}
