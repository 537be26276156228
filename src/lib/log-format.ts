import pino, { type LoggerOptions } from "pino";

/** How every process writes its lines: times in ISO 8601, levels as words. */
export const logOptions = (level: string): LoggerOptions => ({
  level,
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
});

interface Line {
  readonly time: string;
  readonly level: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
  readonly [field: string]: unknown;
}

const LEVEL_WIDTH = 5;

/** A JSON line as people read it on a terminal. */
export function readable(json: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(json) as Line;
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  const text = [time, level.toUpperCase().padEnd(LEVEL_WIDTH), ...(msg === undefined ? [] : [msg]), ...pairs].join(" ");
  const trace = err && `\n${err.stack ?? err.message ?? ""}`.replaceAll("\n", "\n    ");
  return `${withoutControls(text + (trace ?? ""))}\n`;
}

const shown = (value: unknown): string =>
  typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);

/** Callers choose some of the texts, which must not control the terminal. */
const withoutControls = (text: string) => text.replaceAll(/(?!\n)\p{Cc}/gu, "\ufffd");
