import Type, { type Static } from "typebox";
import type { AccountRow } from "./queries.ts";

const named = { id: Type.Integer(), username: Type.String(), name: Type.String() };

/** A service account in the list of the instance. */
export const ServiceAccountSummary = Type.Object(named, {
  additionalProperties: false,
  title: "ServiceAccountSummary",
});

export const ServiceAccount = Type.Object(
  {
    ...named,
    email: Type.String(),
    unconfirmed_email: Type.Optional(Type.String({ description: "An address that is not confirmed yet" })),
  },
  { additionalProperties: false, title: "ServiceAccount" },
);

export const presentSummary = ({ id, username, name }: AccountRow): Static<typeof ServiceAccountSummary> => ({
  id,
  username,
  name,
});

export function presentAccount(row: AccountRow): Static<typeof ServiceAccount> {
  // A new account has the address that waits as its own, a changed one keeps its old address until then.
  const waiting = row.unconfirmed_email ?? (row.confirmed_at === null ? row.email : null);
  return { ...presentSummary(row), email: row.email, ...(waiting !== null && { unconfirmed_email: waiting }) };
}
