import { readFileSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import type { Engine } from "./seeded.ts";

/** A statement as the product sent it. */
export interface Statement {
  readonly text: string;
  readonly values: readonly (string | null)[];
}

/** The statements of `work`, read from the log of PostgreSQL, so that they cannot differ from the product. */
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
  // Neither the reload nor the log writer can be awaited.
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

/** The statement that finds the user of a token. */
export const callerStatement = (statements: readonly Statement[]): Statement =>
  onlyOne(
    statements.filter((statement) => reads(statement) && TOKENS.test(statement.text)),
    "caller",
    statements,
  );

/** The statement that reads a page of users. */
export const pageStatement = (statements: readonly Statement[]): Statement =>
  onlyOne(
    statements.filter(
      (statement) => reads(statement) && /\busers\b[^]*\blimit\b/.test(statement.text) && !TOKENS.test(statement.text),
    ),
    "page",
    statements,
  );

// With none or several the bench would compare with something else.
function onlyOne(found: readonly Statement[], what: string, all: readonly Statement[]): Statement {
  const [statement] = found;
  if (statement && found.length === 1) return statement;
  throw new Error(`${found.length} statements for the ${what}:\n${all.map(({ text }) => text).join("\n")}`);
}

/** A script of pgbench and its variables. */
export interface Script {
  readonly text: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** A script of meta-commands and a statement, which may use the variables of both as `:name`. */
export const scriptOf = (
  lines: readonly string[],
  statement: string,
  variables: Readonly<Record<string, string>> = {},
): Script => ({ text: `${[...lines, statement].join("\n")};\n`, variables });

/** A script that repeats a statement with the same parameters. */
export function repeated({ text, values }: Statement): Script {
  const variables = Object.fromEntries(values.map((value, i) => [`value_${i + 1}`, notNull(value)]));
  return scriptOf([], withoutColons(text).replaceAll(/\$(\d+)/g, ":value_$1"), variables);
}

function notNull(value: string | null): string {
  if (value === null) throw new Error("pgbench has no variable that is null");
  return value;
}

// pgbench takes every colon before a letter for a variable, even inside a string.
export const withoutColons = (text: string) =>
  text.replaceAll(/'(?:[^']|'')*'/g, (literal) =>
    /:\w/.test(literal) ? `E${literal.replaceAll("\\", "\\\\").replaceAll(":", "\\x3a")}` : literal,
  );
