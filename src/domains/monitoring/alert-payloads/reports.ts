import type { RawSet } from "#http/params/raw.ts";
import type { ReportedAlert } from "./alert.ts";
import { readGeneric } from "./generic.ts";
import type { Mappings } from "./mapping.ts";
import { isMetricsFormat, itemsOf, readItem } from "./metrics.ts";

/** How payloads are read. */
export interface Reading {
  readonly mappings: Mappings;
  /** Whether generic alerts without a fingerprint are distinguished by their payload. */
  readonly fingerprintsPayloads: boolean;
  readonly now: Date;
}

/** The alerts in the body of a request of either format, in their order; undefined for an item that cannot be read. */
export const reportsIn = (body: RawSet, { mappings, fingerprintsPayloads, now }: Reading) =>
  isMetricsFormat(body)
    ? itemsOf(body).map((item): ReportedAlert | undefined => readItem(item, mappings, now))
    : [readGeneric(body, mappings, fingerprintsPayloads)];
