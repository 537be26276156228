import Type from "typebox";
import { UserSummary } from "#domains/identity/users/entity.ts";

/** A user who starred a project. */
export const Starrer = Type.Object(
  { starred_since: Type.String({ format: "date-time" }), user: UserSummary },
  { additionalProperties: false, title: "Starrer" },
);
