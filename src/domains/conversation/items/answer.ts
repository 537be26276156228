/** The response that texts of callers' lengths go into. The context of a handler is one. */
export interface Answer {
  /** Reserves memory before the response is built; throws 503 if the process or this caller holds too much. */
  reserveMemory?(bytes: number): void;
  setHeader?(name: string, value: string): void;
  /** How often a text may appear in the response; once if left out. */
  readonly copies?: number;
}

/** Tells the caller that texts in this response were cut. */
export const markTruncated = (answer: Answer) => answer.setHeader?.("x-truncated", "true");
