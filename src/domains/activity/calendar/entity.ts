import Type from "typebox";

/** A day on which somebody did something. */
export const Contributions = Type.Object(
  {
    date: Type.String({ format: "date", description: "A day in UTC" }),
    count: Type.Integer({ description: "Events on it that the caller may see" }),
  },
  { additionalProperties: false, title: "Contributions" },
);
