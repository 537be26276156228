/** A text as a pattern of `like` that matches it and nothing else. */
export const asItIs = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`);

/** A pattern of `like` for whatever holds the text. */
export const holding = (text: string): string => `%${asItIs(text)}%`;
