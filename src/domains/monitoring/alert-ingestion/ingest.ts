import type { Databases } from "#db/database.ts";
import { isHash, type RawSet } from "#http/params/raw.ts";
import { badRequest, Refusal, tooLarge } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { ReportedAlert } from "#domains/monitoring/alert-payloads/alert.ts";
import { isMetricsFormat } from "#domains/monitoring/alert-payloads/metrics.ts";
import { reportsIn } from "#domains/monitoring/alert-payloads/reports.ts";
import type { Sender } from "#domains/monitoring/alert-integrations/access.ts";
import { type ReportRow, WRITE_REPORTS, type WrittenAlert } from "./write.ts";

/** Of one alert. */
const MAX_PAYLOAD_LENGTH = 1024 * 1024;
/** Reports of one request that wait at once, so that a long one takes its turn with others. */
const CHUNK = 250;

/** What of a request the writing of its alerts needs. */
export interface Ingestion {
  readonly databases: Databases;
  readonly services: Pick<Services, "settings" | "now" | "log">;
  readonly requestId: string;
}

/** Creates, repeats and resolves the alerts in the body of a request, and returns them. They are committed. */
export async function ingest({ databases, services, requestId }: Ingestion, sender: Sender, body: unknown) {
  if (!isHash(body)) throw badRequest("The body is not a JSON object");
  const { generic_alert_fingerprinting: fingerprintsPayloads } = await services.settings.current();
  const reading = { mappings: sender.mappings, fingerprintsPayloads, now: services.now() };
  const { rows, skipped } = rowsOf(sender, body, reportsIn(body, reading));
  if (skipped > 0) {
    const of = { request_id: requestId, project_id: sender.project_id, integration_id: sender.id, skipped };
    services.log.warn(of, "skipped items of an alert request that could not be read");
  }
  const written = new Map<number, NonNullable<WrittenAlert>>();
  for (let at = 0; at < rows.length; at += CHUNK)
    for (const alert of await writeAll(databases, rows.slice(at, at + CHUNK))) if (alert) written.set(alert.iid, alert);
  return [...written.values()];
}

function rowsOf(sender: Sender, body: RawSet, reports: readonly (ReportedAlert | undefined)[]) {
  const rows = reports.flatMap((alert): ReportRow[] => {
    const payload = alert && JSON.stringify(alert.payload);
    return payload && payload.length <= MAX_PAYLOAD_LENGTH ? [{ sender, alert, payload }] : [];
  });
  if (rows.length === 0 && !isMetricsFormat(body)) throw tooLarge();
  return { rows, skipped: reports.length - rows.length };
}

/** Each report is tried, whatever becomes of the others; if one has to be sent again, all of them are. */
async function writeAll(databases: Databases, rows: readonly ReportRow[]): Promise<WrittenAlert[]> {
  const outcomes = await Promise.allSettled(rows.map((row) => databases.batched(WRITE_REPORTS, row)));
  return outcomes.map((outcome) => {
    if (outcome.status === "fulfilled") return outcome.value;
    throw outcome.reason instanceof Error ? outcome.reason : new Refusal("unavailable", String(outcome.reason));
  });
}
