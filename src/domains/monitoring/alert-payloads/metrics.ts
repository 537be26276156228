import { isHash, type RawSet } from "#http/params/raw.ts";
import { commonFields, fieldReader, type ReportedAlert, runbookOf, shownQuery } from "./alert.ts";
import { environmentIn } from "./environment.ts";
import { givenFingerprint, itemFingerprint } from "./fingerprint.ts";
import { type MappedField, mappedValue, type Mappings } from "./mapping.ts";
import { metricsSeverity } from "./severity.ts";
import { textOf, timeOf } from "./values.ts";

const REQUIRED = [
  ...["alerts", "commonAnnotations", "commonLabels", "externalURL", "groupKey", "groupLabels"],
  ...["receiver", "status", "version"],
];
const VERSION = "4";
const TOOL = "Prometheus";

/** Whether a body is that of a webhook for metrics. The body alone decides, whatever the integration is called. */
export const isMetricsFormat = (body: RawSet): boolean =>
  REQUIRED.every((name) => Object.hasOwn(body, name)) && body["version"] === VERSION;

/** The items of a webhook's body, one for each alert. */
export const itemsOf = (body: RawSet): readonly unknown[] => (Array.isArray(body["alerts"]) ? body["alerts"] : []);

/** Reads an item; undefined if it lacks its title or its start. */
export function readItem(item: unknown, mappings: Mappings, now: Date): ReportedAlert | undefined {
  if (!isHash(item)) return undefined;
  const labels = hashOf(item["labels"]);
  const annotations = hashOf(item["annotations"]);
  const usual = usualValues(item, labels, annotations);
  const read = fieldReader(item, mappings, (field) => usual[field]);
  const title = textOf(read("title"));
  const startsAt = textOf(item["startsAt"]);
  if (title === undefined || startsAt === undefined) return undefined;
  const query = queryOf(item["generatorURL"]);
  return {
    ...commonFields(read, title),
    ...(givenFingerprint(mappedValue(item, mappings, "fingerprint")) ?? itemFingerprint(startsAt, title, query)),
    severity: metricsSeverity(textOf(read("severity"))),
    runbook: runbookOf(annotations["runbook"]),
    query: shownQuery(query),
    resolves: isResolved(item, now),
    endedAt: timeOf(read("end_time")) ?? null,
    payload: item,
  };
}

const hashOf = (value: unknown): RawSet => (isHash(value) ? value : {});

/** The values of fields where tools for metrics have them; an item has neither service nor hosts. */
const usualValues = (item: RawSet, labels: RawSet, annotations: RawSet): Partial<Record<MappedField, unknown>> => ({
  title: [annotations["title"], annotations["summary"], labels["alertname"]].find((text) => textOf(text) !== undefined),
  description: annotations["description"],
  start_time: item["startsAt"],
  end_time: item["endsAt"],
  severity: labels["severity"],
  platform_environment_name: environmentIn(labels),
  monitoring_tool: TOOL,
});

/**
 * The item's own status decides. Without one, its end does, unless that lies ahead: a firing item may say until when it
 * holds if nobody renews it.
 */
function isResolved(item: RawSet, now: Date): boolean {
  const status = textOf(item["status"]);
  if (status !== undefined) return status === "resolved";
  const endsAt = timeOf(item["endsAt"]);
  return endsAt !== undefined && Date.parse(endsAt) <= now.getTime();
}

/** The query of the metric, from the address of its graph. */
function queryOf(generatorUrl: unknown): string | undefined {
  const url = textOf(generatorUrl);
  if (url === undefined || !URL.canParse(url)) return undefined;
  return new URL(url).searchParams.get("g0.expr") ?? undefined;
}
