import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#resources/users/entity.ts";
import { presentSummary } from "#resources/users/present.ts";
import type { SummaryRow } from "#resources/users/queries.ts";
import type { MemberRow } from "./queries.ts";

/** A user with what they are worth in a group or project. */
export const Member = Type.Object(
  {
    ...UserSummary.properties,
    access_level: Type.Integer({ description: "5, 10, 15, 20, 30, 40 or 50" }),
    created_at: Type.String({ format: "date-time" }),
    created_by: Nullable(UserSummary),
    expires_at: Nullable(Type.String({ format: "date" })),
    membership_state: Type.String(),
  },
  { additionalProperties: false, title: "Member" },
);

/** What is answered where several were added at once. */
export const MembersAdded = Type.Object(
  { status: Type.String() },
  { additionalProperties: false, title: "MembersAdded" },
);

export const presentMember = (
  row: MemberRow,
  site: string,
  creator: SummaryRow | undefined,
): Static<typeof Member> => ({
  ...presentSummary(site)(row),
  access_level: row.access_level,
  created_at: row.created_at,
  created_by: creator ? presentSummary(site)(creator) : null,
  expires_at: row.expires_at,
  membership_state: "active",
});
