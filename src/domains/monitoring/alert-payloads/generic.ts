import type { RawSet } from "#http/params/raw.ts";
import { commonFields, fieldReader, type ReportedAlert, runbookOf } from "./alert.ts";
import { givenFingerprint, payloadFingerprint, UNIDENTIFIED } from "./fingerprint.ts";
import { environmentIn } from "./environment.ts";
import type { Mappings } from "./mapping.ts";
import { genericSeverity } from "./severity.ts";
import { textOf, timeOf } from "./values.ts";

const DEFAULT_TITLE = "New: Alert";

/** Reads a payload of the generic format, in which every field is optional. */
export function readGeneric(payload: RawSet, mappings: Mappings, fingerprintsPayloads: boolean): ReportedAlert {
  const read = fieldReader(payload, mappings, (field) =>
    field === "platform_environment_name" ? environmentIn(payload) : payload[field],
  );
  const endedAt = timeOf(read("end_time")) ?? null;
  const generated = fingerprintsPayloads ? payloadFingerprint(payload) : UNIDENTIFIED;
  return {
    ...commonFields(read, textOf(read("title")) ?? DEFAULT_TITLE),
    ...(givenFingerprint(read("fingerprint")) ?? generated),
    severity: genericSeverity(textOf(read("severity"))),
    runbook: runbookOf(payload["runbook"]),
    query: null,
    resolves: endedAt !== null,
    endedAt,
    payload,
  };
}
