import Type, { type Static } from "typebox";
import { Note } from "#domains/conversation/notes/entity.ts";

/** Notes that reply to each other, the oldest first; a note without replies is a discussion of its own. */
export const Discussion = Type.Object(
  {
    id: Type.String({ description: "40 hexadecimal digits" }),
    individual_note: Type.Boolean({ description: "Whether it is a single note that nobody has replied to" }),
    notes: Type.Array(Note),
  },
  { additionalProperties: false, title: "Discussion" },
);
export type Discussion = Static<typeof Discussion>;
