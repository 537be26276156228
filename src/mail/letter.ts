import { escapeHtml } from "#lib/html.ts";

/** What a mail says to whom, before it is laid out. */
export interface Letter {
  /** The same at every attempt to send it, so that a receiver can tell a mail that came twice. */
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

/** A header ends where a line does, so a subject is one; what people named may hold anything. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();

export const textOf = ({ paragraphs }: Letter): string =>
  paragraphs.map((part) => `${typeof part === "string" ? oneLine(part) : `${part.label}:\n${part.link}`}\n`).join("\n");

/** Nothing in it is loaded from anywhere, so that opening the mail tells nobody. */
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
