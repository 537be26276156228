import { hash } from "node:crypto";
import { escapeHtml } from "#lib/html.ts";
import { type Kind, Refusal } from "#lib/refusal.ts";

const STYLE = `
  body { max-width: 26rem; margin: 4rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
  label, input, button { display: block; box-sizing: border-box; width: 100%; font: inherit; }
  input, button { margin: 0.25rem 0 1rem; padding: 0.5rem; }
  .problem { color: #b00020; }
  pre { padding: 0.5rem; border: 1px solid; overflow-x: auto; }
`;

interface Page {
  readonly title: string;
  readonly text: string;
  readonly problems?: readonly string[];
  /** What to do next from a terminal. */
  readonly steps?: readonly Step[];
  readonly form?: string;
}

interface Step {
  readonly text: string;
  readonly commands: string;
}

/** Renders a page without scripts; texts are escaped here, the form by the functions below. */
export const renderPage = ({ title, text, problems = [], steps = [], form = "" }: Page): string => `<!doctype html>
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
${steps.map(renderStep).join("")}${problems.map((problem) => `    <p class="problem" role="alert">${escapeHtml(problem)}</p>\n`).join("")}${form}  </body>
</html>
`;

const renderStep = ({ text, commands }: Step) =>
  `    <p>${escapeHtml(text)}</p>\n    <pre>${escapeHtml(commands)}</pre>\n`;

/** A refusal that is shown as a page. */
export const pageRefusal = (kind: Kind, page: Page) => new Refusal(kind, page.title, { page: renderPage(page) });

/** Every page loads nothing, posts only to this site, and is neither cached nor indexed. */
export function setPageHeaders(setHeader: (name: string, value: string) => void) {
  const style = `'sha256-${hash("sha256", STYLE, "base64")}'`;
  setHeader(
    "content-security-policy",
    `default-src 'none'; style-src ${style}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  );
  // With `no-referrer` browsers send `Origin: null` with a form, which plain HTTP would refuse as another site.
  setHeader("referrer-policy", "same-origin");
  setHeader("cache-control", "no-store");
  setHeader("x-robots-tag", "noindex");
}

export const renderForm = (
  action: string,
  button: string,
  ...fields: readonly string[]
): string => `    <form method="post" action="${action}">
${fields.map((field) => `      ${field}\n`).join("")}      <button>${escapeHtml(button)}</button>
    </form>
`;

export const renderHidden = (name: string, value: string) =>
  `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;

interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "email" | "password";
  readonly autocomplete: "email" | "new-password";
}

export const renderField = ({ name, label, type, autocomplete }: Field): string =>
  `<label>${escapeHtml(label)} <input name="${name}" type="${type}" autocomplete="${autocomplete}" required></label>`;
