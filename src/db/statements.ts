import { hash } from "node:crypto";
import type { Log } from "./log.ts";

/** Names statements by their text, so that PostgreSQL parses and plans each of them once a connection. */
export interface StatementNames {
  /** The name of a statement; none for what cannot be prepared (begin, commit, DDL). */
  of(text: string): string | undefined;
  /** Gives a statement another name after a migration made what connections hold under `stale` useless. */
  renew(text: string, stale: string | undefined): void;
  /** How many statements have names: no connection holds more of them. */
  count(): number;
}

/** Every name holds memory in every connection, and far fewer are in use: more means texts that carry values. */
const MOST_NAMES = 1_000;
const PREPARED = /^\s*(?:select|insert|update|delete|merge|with|values)\b/i;

export function statementNames(log: Log): StatementNames {
  const names = new Map<string, string>();
  let renewed = 0;
  let warned = false;
  return {
    of(text) {
      const known = names.get(text);
      if (known !== undefined || !PREPARED.test(text)) return known;
      if (names.size === MOST_NAMES) {
        if (!warned) log.warn({ statement: text }, "Too many different statements: a text must not carry values");
        warned = true;
        return undefined;
      }
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
