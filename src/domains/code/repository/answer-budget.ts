import { setImmediate as nextTurn } from "node:timers/promises";

/** JSON that one response may make from a repository; 16 MiB would block the event loop for 200 ms. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The remaining bytes of one response. Whoever pushed to a repository chose the length of every text in it. */
export interface AnswerBudget {
  /**
   * Returns the first form, from fullest to shortest, whose JSON fits, or undefined. All but the shortest leave
   * `reserve` bytes for the rows that follow.
   */
  fit<T>(forms: readonly (() => T)[], reserve?: number): T | undefined;
  /** Yields to the event loop if much was serialized since the last time. */
  yieldToOthers(): Promise<void>;
  /** Sets `X-Truncated: true`: the response is incomplete. */
  markTruncated(): void;
}

/** For the JSON around the rows. */
const AROUND_ROWS_BYTES = 4096;
/** Serializing this many bytes takes some milliseconds. */
const YIELD_BYTES = 256 * 1024;
/** Reserved for each following row, so that a page of long texts keeps all its rows, with shorter texts. */
const ROW_RESERVE_BYTES = 1536;

/**
 * Fits the rows of a list. Each is read once the previous one is done, so that only one object of the repository is in
 * memory. `read` returns the forms of a row, or none to leave it out.
 */
export async function fitRows<S, T>(
  budget: AnswerBudget,
  sources: readonly S[],
  read: (source: S) => Promise<readonly (() => T)[]>,
): Promise<T[]> {
  const rows: T[] = [];
  for (const [at, source] of sources.entries()) {
    const forms = await read(source);
    if (forms.length === 0) continue;
    const row = budget.fit(forms, (sources.length - at - 1) * ROW_RESERVE_BYTES);
    if (row === undefined) break;
    rows.push(row);
    await budget.yieldToOthers();
  }
  return rows;
}

export function answerBudget(
  setHeader: (name: string, value: string) => void,
  maxBytes = MAX_ANSWER_BYTES,
): AnswerBudget {
  let left = maxBytes - AROUND_ROWS_BYTES;
  let marked = false;
  let sinceYield = 0;
  const markTruncated = () => {
    if (!marked) setHeader("x-truncated", "true");
    marked = true;
  };
  return {
    markTruncated,
    async yieldToOthers() {
      if (sinceYield < YIELD_BYTES) return;
      sinceYield = 0;
      await nextTurn();
    },
    fit(forms, reserve = 0) {
      for (const [at, form] of forms.entries()) {
        const value = form();
        const bytes = Buffer.byteLength(JSON.stringify(value)) + 1;
        if (bytes > (at < forms.length - 1 ? left - reserve : left)) continue;
        left -= bytes;
        sinceYield += bytes;
        if (at > 0) markTruncated();
        return value;
      }
      markTruncated();
      return undefined;
    },
  };
}
