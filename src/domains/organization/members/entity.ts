import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import type { SummaryRow } from "#domains/identity/users/queries.ts";
import type { MemberRow } from "./queries.ts";

/** A user with their level in a group or project. */
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

/** The response after several members were added at once. */
export const MembersAdded = Type.Object(
  { status: Type.String() },
  { additionalProperties: false, title: "MembersAdded" },
);

/** A group or project that a user is a member of. */
export const UserMembership = Type.Object(
  {
    source_id: Type.Integer(),
    source_name: Type.String(),
    source_type: Type.String({ description: "`Namespace` for a group, or `Project`" }),
    access_level: Type.Integer({ description: "5, 10, 15, 20, 30, 40 or 50" }),
  },
  { additionalProperties: false, title: "UserMembership" },
);

const upTo = (most: number) => Type.Integer({ description: `${most} stands for more than ${most - 1}` });

/** How many groups, projects and items a user is associated with. */
export const AssociationsCount = Type.Object(
  {
    groups_count: upTo(10_001),
    projects_count: upTo(10_001),
    issues_count: upTo(10_001),
    merge_requests_count: upTo(10_001),
  },
  { additionalProperties: false, title: "AssociationsCount" },
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
