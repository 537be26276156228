/** What a look at the installation came to. */
export interface Finding {
  readonly good: boolean;
  /** Whether it is worth a word though nothing has to be mended. */
  readonly warns?: true;
  readonly text: string;
}

export const good = (text: string): Finding => ({ good: true, text });
export const warning = (text: string): Finding => ({ good: true, warns: true, text });
export const bad = (text: string): Finding => ({ good: false, text });

export const problemOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
