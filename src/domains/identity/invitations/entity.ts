import Type from "typebox";

/** A link by which a user chooses their first password; shown this once. */
export const Invitation = Type.Object(
  {
    url: Type.String({ description: "To be handed to the user alone: whoever opens it can choose the password" }),
    expires_at: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false, title: "Invitation" },
);
