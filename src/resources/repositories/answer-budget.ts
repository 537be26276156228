import { setImmediate as nextTurn } from "node:timers/promises";

/** Bytes of JSON made from a repository that one response may have; 16 MiB would hold up everybody else for 200 ms. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** What is left of the bytes of one response. Whoever pushed a repository chose how long every text in it is. */
export interface AnswerBudget {
  /**
   * The first of these forms, from the fullest to the shortest, whose JSON fits; undefined if none does. All but the
   * shortest leave `reserve` bytes for what follows.
   */
  fit<T>(forms: readonly (() => T)[], reserve?: number): T | undefined;
  /** Lets other requests have a turn where much has been fitted since the last one. */
  yieldTurn(): Promise<void>;
  /** Tells the client with `X-Truncated: true` that the response is not all there is. */
  markTruncated(): void;
}

/** Of what stands around the rows of a response. */
const AROUND_ROWS_BYTES = 4096;
/** Rows of this many bytes take some milliseconds to make. */
const TURN_BYTES = 256 * 1024;
/** Kept for each row that follows, so that a page of long texts has all its rows, with shorter texts. */
const ROW_RESERVE_BYTES = 1536;

/**
 * The rows of a list. Each is read only when the one before has its final form, so that no more than one object of the
 * repository is in memory. `read` gives the forms of a row, or none to leave it out.
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
    await budget.yieldTurn();
  }
  return rows;
}

export function answerBudget(
  setHeader: (name: string, value: string) => void,
  maxBytes = MAX_ANSWER_BYTES,
): AnswerBudget {
  let left = maxBytes - AROUND_ROWS_BYTES;
  let marked = false;
  let sinceTurn = 0;
  const markTruncated = () => {
    if (!marked) setHeader("x-truncated", "true");
    marked = true;
  };
  return {
    markTruncated,
    async yieldTurn() {
      if (sinceTurn < TURN_BYTES) return;
      sinceTurn = 0;
      await nextTurn();
    },
    fit(forms, reserve = 0) {
      for (const [at, form] of forms.entries()) {
        const value = form();
        const bytes = Buffer.byteLength(JSON.stringify(value)) + 1;
        if (bytes > (at < forms.length - 1 ? left - reserve : left)) continue;
        left -= bytes;
        sinceTurn += bytes;
        if (at > 0) markTruncated();
        return value;
      }
      markTruncated();
      return undefined;
    },
  };
}
