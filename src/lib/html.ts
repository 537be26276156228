const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text as part of an HTML page, inside or outside of quotes. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (letter) => ENTITIES[letter] ?? "");
