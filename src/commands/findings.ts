/** The result of one check. */
export interface Finding {
  readonly good: boolean;
  /** Worth a warning, though nothing has to be fixed. */
  readonly warns?: true;
  readonly text: string;
}

export const good = (text: string): Finding => ({ good: true, text });
export const warning = (text: string): Finding => ({ good: true, warns: true, text });
export const bad = (text: string): Finding => ({ good: false, text });
