/** What the title of a draft begins with, in any case; PostgreSQL and JavaScript read it alike. */
export const DRAFT_PATTERN = "^(draft:|\\[draft\\]|\\(draft\\))";

const DRAFT = new RegExp(DRAFT_PATTERN, "i");

export const isDraft = (title: string): boolean => DRAFT.test(title);
