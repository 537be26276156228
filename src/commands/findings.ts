/** What a look at the installation came to. */
export interface Finding {
  readonly good: boolean;
  readonly text: string;
}

export const good = (text: string): Finding => ({ good: true, text });
export const bad = (text: string): Finding => ({ good: false, text });

export const problemOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
