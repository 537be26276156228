import { hash } from "node:crypto";
import { escapeHtml } from "#lib/html.ts";
import { type Kind, Refusal } from "#lib/refusal.ts";

const STYLE = `
  body { max-width: 26rem; margin: 4rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
  label, input, button { display: block; box-sizing: border-box; width: 100%; font: inherit; }
  input, button { margin: 0.25rem 0 1rem; padding: 0.5rem; }
  .problem { color: #b00020; }
`;

interface Page {
  readonly title: string;
  readonly text: string;
  readonly problems?: readonly string[];
  readonly form?: string;
}

/** A page without script: its texts are escaped here, its form was made by the functions below. */
export const pageOf = ({ title, text, problems = [], form = "" }: Page): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${escapeHtml(title)} · Fairlead</title>
    <style>${STYLE}</style>
  </head>
  <body>
    <h1>${escapeHtml(title)}</h1>
    <p>${escapeHtml(text)}</p>
${problems.map((problem) => `    <p class="problem" role="alert">${escapeHtml(problem)}</p>\n`).join("")}${form}  </body>
</html>
`;

/** A refusal that people read as a page. */
export const refusedPage = (kind: Kind, page: Page) => new Refusal(kind, page.title, { page: pageOf(page) });

/** What every page here is sent with: it loads nothing, posts only to us, and is kept and found by nobody. */
export function setPageHeaders(setHeader: (name: string, value: string) => void) {
  const style = `'sha256-${hash("sha256", STYLE, "base64")}'`;
  setHeader(
    "content-security-policy",
    `default-src 'none'; style-src ${style}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  );
  // With no-referrer browsers send `Origin: null` with a form, and it would not count as ours over plain http.
  setHeader("referrer-policy", "same-origin");
  setHeader("cache-control", "no-store");
  setHeader("x-robots-tag", "noindex");
}

export const formOf = (
  action: string,
  button: string,
  ...fields: readonly string[]
): string => `    <form method="post" action="${action}">
${fields.map((field) => `      ${field}\n`).join("")}      <button>${escapeHtml(button)}</button>
    </form>
`;

export const hidden = (name: string, value: string) =>
  `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;

interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "email" | "password";
  readonly autocomplete: "email" | "new-password";
}

export const fieldOf = ({ name, label, type, autocomplete }: Field): string =>
  `<label>${escapeHtml(label)} <input name="${name}" type="${type}" autocomplete="${autocomplete}" required></label>`;
