import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { recordOf } from "./names.ts";
import type { DomainRow } from "./queries.ts";

const Time = Type.String({ format: "date-time" });
const exact = { additionalProperties: false };

/** A claimed domain; once it is verified, its people are enterprise users of the group. */
export const VerifiedDomain = Type.Object(
  {
    id: Type.Integer(),
    domain: Type.String(),
    verified: Type.Boolean(),
    verified_at: Nullable(Time),
    verified_by: Nullable(Type.String({ description: "dns or administrator" })),
    last_checked_at: Nullable(Time),
    failing_since: Nullable(Time),
    created_at: Time,
    dns_record: Type.Object(
      { type: Type.String(), name: Type.String(), value: Type.String() },
      { ...exact, description: "The record that proves control of the domain" },
    ),
  },
  { ...exact, title: "VerifiedDomain" },
);

export const presentDomain = (row: DomainRow): Static<typeof VerifiedDomain> => ({
  id: row.id,
  domain: row.domain,
  verified: row.verified_at !== null,
  verified_at: row.verified_at,
  verified_by: row.verified_by,
  last_checked_at: row.last_checked_at,
  failing_since: row.failing_since,
  created_at: row.created_at,
  dns_record: recordOf(row),
});
