import Type, { type Static } from "typebox";
import type { AccountRow } from "./queries.ts";

const named = { id: Type.Integer(), username: Type.String(), name: Type.String() };

/** A service account as the list of all of them shows it. */
export const ServiceAccountSummary = Type.Object(named, {
  additionalProperties: false,
  title: "ServiceAccountSummary",
});

export const ServiceAccount = Type.Object(
  {
    ...named,
    email: Type.String(),
    unconfirmed_email: Type.Optional(Type.String({ description: "An address that waits to be confirmed" })),
  },
  { additionalProperties: false, title: "ServiceAccount" },
);

export const presentSummary = ({ id, username, name }: AccountRow): Static<typeof ServiceAccountSummary> => ({
  id,
  username,
  name,
});

export const presentAccount = (row: AccountRow): Static<typeof ServiceAccount> => ({
  ...presentSummary(row),
  email: row.email,
  ...(row.unconfirmed_email !== null && { unconfirmed_email: row.unconfirmed_email }),
});
