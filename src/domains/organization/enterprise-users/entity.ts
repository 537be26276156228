import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { CurrentUser } from "#domains/identity/users/entity.ts";
import { presentCurrentUser, type View } from "#domains/identity/users/present.ts";
import type { AdminUserRow, Identity } from "#domains/identity/users/queries.ts";

const exact = { additionalProperties: false };

/** A user of a group, as the Owners of the group see them. */
export const EnterpriseUser = Type.Object(
  {
    ...CurrentUser.properties,
    shared_runners_minutes_limit: Nullable(Type.Integer()),
    extra_shared_runners_minutes_limit: Nullable(Type.Integer()),
    scim_identities: Type.Array(
      Type.Object({ extern_uid: Type.String(), group_id: Type.Integer(), active: Type.Boolean() }, exact),
    ),
  },
  { ...exact, title: "EnterpriseUser" },
);

export const presentEnterpriseUser = (
  row: AdminUserRow,
  identities: readonly Identity[],
  view: View,
): Static<typeof EnterpriseUser> => ({
  ...presentCurrentUser(row, identities, view),
  shared_runners_minutes_limit: row.shared_runners_minutes_limit,
  extra_shared_runners_minutes_limit: row.extra_shared_runners_minutes_limit,
  scim_identities: [],
});
