import type { RawSet } from "#http/params/raw.ts";
import type { Fingerprint } from "./fingerprint.ts";
import { type MappedField, mappedValue, type Mappings } from "./mapping.ts";
import type { Severity } from "./severity.ts";
import { hostsOf, lineOf, textOf, timeOf, truncated } from "./values.ts";

/** What a payload says of one alert. */
export interface ReportedAlert extends Fingerprint {
  readonly title: string;
  readonly description: string | null;
  readonly severity: Severity;
  readonly service: string | null;
  readonly monitoringTool: string | null;
  readonly hosts: readonly string[];
  readonly environmentName: string | null;
  readonly runbook: string | null;
  readonly query: string | null;
  /** Null for now. */
  readonly startedAt: string | null;
  /** Whether it says that the alert is over, and when it ended; null for now. */
  readonly resolves: boolean;
  readonly endedAt: string | null;
  readonly payload: RawSet;
}

/** As long as columns of the table are; longer texts are cut. */
const MAX = { title: 200, description: 1000, name: 100, environment: 255, url: 2048, query: 4096 } as const;

/** Reads the value of a field: where the integration says, else at its usual place. */
export type ReadField = (field: MappedField) => unknown;

export const fieldReader =
  (payload: RawSet, mappings: Mappings, usual: ReadField): ReadField =>
  (field) =>
    mappedValue(payload, mappings, field) ?? usual(field);

/** The fields that alerts of every format have. */
export function commonFields(read: ReadField, title: string) {
  const text = (field: MappedField, max: number) => {
    const given = textOf(read(field));
    return given === undefined ? null : truncated(given, max);
  };
  return {
    title: lineOf(title, MAX.title),
    description: text("description", MAX.description),
    service: text("service", MAX.name),
    monitoringTool: text("monitoring_tool", MAX.name),
    hosts: hostsOf(read("hosts")),
    environmentName: text("platform_environment_name", MAX.environment),
    startedAt: timeOf(read("start_time")) ?? null,
  };
}

export const runbookOf = (value: unknown): string | null => {
  const url = textOf(value)?.trim();
  return url === undefined || url.length > MAX.url ? null : url;
};

export const shownQuery = (query: string | undefined): string | null =>
  query === undefined ? null : truncated(query, MAX.query);
