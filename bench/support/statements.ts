import { readFileSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import type { Engine } from "./seeded.ts";

/** A statement as the product sent it. */
export interface Statement {
  readonly text: string;
  readonly values: readonly (string | null)[];
}

/** The statements that PostgreSQL ran while `work` was done, read from its own log, so that nothing can drift apart. */
export async function statementsOf(engine: Engine, work: () => Promise<unknown>): Promise<Statement[]> {
  const db = new Client(engine.url);
  await db.connect();
  try {
    await setLogging(db, "all");
    const from = statSync(engine.log).size;
    await work();
    await setLogging(db, "none");
    const lines = readFileSync(engine.log).subarray(from).toString().trimEnd().split("\n");
    return lines.map(readLine).filter((statement) => statement !== undefined);
  } finally {
    await db.end();
  }
}

async function setLogging(db: Client, statements: "all" | "none") {
  await db.query(`alter system set log_statement = '${statements}'`);
  await db.query("select pg_reload_conf()");
  // Neither the signal to the other processes nor the log's writer is waited for by anyone.
  await pause(300);
}

function readLine(line: string): Statement | undefined {
  const { message, detail = "" } = JSON.parse(line) as { message: string; detail?: string };
  const text = /^execute [^:]+: (.*)$/s.exec(message)?.[1];
  if (text === undefined) return undefined;
  const values = [...detail.matchAll(/\$\d+ = (?:'((?:[^']|'')*)'|NULL)/g)].map(
    ([, value]) => value?.replaceAll("''", "'") ?? null,
  );
  return { text, values };
}

const TOKENS = /\bpersonal_access_tokens\b/;
const reads = ({ text }: Statement) => /^\s*(select|with)\b/i.test(text);

/** The statement that led from the token to its user. */
export const callerStatement = (statements: readonly Statement[]): Statement =>
  theOne(
    statements.filter((statement) => reads(statement) && TOKENS.test(statement.text)),
    "caller",
    statements,
  );

/** The statement that read a page of users. */
export const pageStatement = (statements: readonly Statement[]): Statement =>
  theOne(
    statements.filter(
      (statement) => reads(statement) && /\busers\b[^]*\blimit\b/.test(statement.text) && !TOKENS.test(statement.text),
    ),
    "page",
    statements,
  );

// None or two mean that the bench no longer knows what it compares with.
function theOne(found: readonly Statement[], what: string, all: readonly Statement[]): Statement {
  const [statement] = found;
  if (statement && found.length === 1) return statement;
  throw new Error(`${found.length} statements for the ${what}:\n${all.map(({ text }) => text).join("\n")}`);
}

/** What pgbench runs again and again, with the variables that are given to it from outside. */
export interface Script {
  readonly text: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** A script of lines and a statement, which may use `:name` where they or `variables` give a value. */
export const scriptOf = (
  lines: readonly string[],
  statement: string,
  variables: Readonly<Record<string, string>> = {},
): Script => ({ text: `${[...lines, statement].join("\n")};\n`, variables });

/** The same statement with the same values, as parameters again. */
export function repeated({ text, values }: Statement): Script {
  const variables = Object.fromEntries(values.map((value, i) => [`value_${i + 1}`, known(value)]));
  return scriptOf([], withoutColons(text).replaceAll(/\$(\d+)/g, ":value_$1"), variables);
}

function known(value: string | null): string {
  if (value === null) throw new Error("pgbench has no variable that is null");
  return value;
}

// pgbench takes every colon before a letter for a variable of its own, inside a string too.
export const withoutColons = (text: string) =>
  text.replaceAll(/'(?:[^']|'')*'/g, (literal) =>
    /:\w/.test(literal) ? `E${literal.replaceAll("\\", "\\\\").replaceAll(":", "\\x3a")}` : literal,
  );
