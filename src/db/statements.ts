import { hash } from "node:crypto";

/** Names statements by their text, so that PostgreSQL parses and plans each of them once a connection. */
export interface StatementNames {
  /** The name of a statement; undefined if it cannot be prepared (begin, commit, DDL). */
  of(text: string): string | undefined;
  /** Renames a statement after a migration invalidated what connections prepared under `stale`. */
  renew(text: string, stale: string | undefined): void;
  /** How many names are remembered. */
  count(): number;
}

/**
 * How many prepared statements a connection may hold: each takes memory, and callers can send many combinations of
 * filters. A connection that holds more is closed after its current work.
 */
export const MAX_PREPARED = 500;
const MAX_REMEMBERED = 5_000;
const PREPARED = /^\s*(?:select|insert|update|delete|merge|with|values)\b/i;

export function statementNames(): StatementNames {
  const names = new Map<string, string>();
  let renewed = 0;
  return {
    of(text) {
      const known = names.get(text);
      if (known !== undefined || !PREPARED.test(text)) return known;
      // Names are derived from the text, so they can be forgotten without loss.
      if (names.size === MAX_REMEMBERED) names.clear();
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

/** For connections that prepare no statements. */
export const noNames: StatementNames = { of: () => undefined, renew() {}, count: () => 0 };
