/** The severities of alerts, most critical first; the database has their index. */
export const SEVERITIES = ["critical", "high", "medium", "low", "info", "unknown"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What metrics tools call each severity. */
const WORDS: Readonly<Record<Exclude<Severity, "unknown">, readonly string[]>> = {
  critical: ["critical", "s1", "p1", "emergency", "fatal"],
  high: ["high", "s2", "p2", "major", "page"],
  medium: ["medium", "s3", "p3", "error", "alert"],
  low: ["low", "s4", "p4", "warn", "warning"],
  info: ["info", "s5", "p5", "debug", "information", "notice"],
};
const BY_WORD = new Map(
  Object.entries(WORDS).flatMap(([severity, words]) => words.map((word) => [word, severity as Severity] as const)),
);

/** Severities are read by name; what is no severity counts as the worst one, so that nobody overlooks it. */
export const genericSeverity = (text: string | undefined): Severity =>
  SEVERITIES.find((severity) => severity === text?.trim().toLowerCase()) ?? "critical";

export const metricsSeverity = (text: string | undefined): Severity =>
  BY_WORD.get(text?.trim().toLowerCase() ?? "") ?? "critical";
