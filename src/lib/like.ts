/** Escapes text for `like`, so that it matches only itself. */
export const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`);

/** A pattern for `like` that matches any text that contains this one. */
export const containing = (text: string): string => `%${escapeLike(text)}%`;
