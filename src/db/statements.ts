import { hash } from "node:crypto";

/** Names statements by their text, so that PostgreSQL parses and plans each of them once a connection. */
export interface StatementNames {
  /** The name of a statement; none for what cannot be prepared (begin, commit, DDL). */
  of(text: string): string | undefined;
  /** Gives a statement another name after a migration made what connections hold under `stale` useless. */
  renew(text: string, stale: string | undefined): void;
  /** How many names are remembered. */
  count(): number;
}

/**
 * How many statements a connection may hold: each costs it memory, and callers can ask for more combinations of filters
 * than anyone needs. A connection with more is closed when its work is done.
 */
export const MOST_HELD = 500;
const MOST_REMEMBERED = 5_000;
const PREPARED = /^\s*(?:select|insert|update|delete|merge|with|values)\b/i;

export function statementNames(): StatementNames {
  const names = new Map<string, string>();
  let renewed = 0;
  return {
    of(text) {
      const known = names.get(text);
      if (known !== undefined || !PREPARED.test(text)) return known;
      // A name follows from the text, so that forgetting all of them loses nothing.
      if (names.size === MOST_REMEMBERED) names.clear();
      const name = hash("sha256", text, "base64url");
      names.set(text, name);
      return name;
    },
    renew(text, stale) {
      if (stale !== undefined && names.get(text) === stale) names.set(text, `${stale.slice(0, 43)}-${++renewed}`);
    },
    count: () => names.size,
  };
}

/** For statements that are not to be prepared. */
export const noNames: StatementNames = { of: () => undefined, renew() {}, count: () => 0 };
