import { type Selectable } from "kysely";
import Type, { type Static } from "typebox";
import type { Database } from "#db/types.ts";
import { Nullable } from "#http/params/vocabulary.ts";

/** A secondary address of a user. */
export const UserEmail = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    confirmed_at: Nullable(Type.String({ format: "date-time" })),
  },
  { additionalProperties: false, title: "UserEmail" },
);

export type EmailRow = Pick<Selectable<Database["emails"]>, "id" | "email" | "confirmed_at" | "updated_at">;

export const presentEmail = ({ id, email, confirmed_at }: EmailRow): Static<typeof UserEmail> => ({
  id,
  email,
  confirmed_at,
});
