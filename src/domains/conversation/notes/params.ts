import Type, { type Static } from "typebox";
import { Id, Text } from "#http/params/vocabulary.ts";

const MAX_BODY_LENGTH = 1_048_576;

export const note = { note_id: Id };
export const noteBody = { body: Text(MAX_BODY_LENGTH) };
export const noteFilters = {
  activity_filter: Type.Enum(["all_notes", "only_comments", "only_activity"], {
    default: "all_notes",
    description: "Whether to list comments, the record of changes, or both",
  }),
};
export type NoteFilters = Static<Type.TObject<typeof noteFilters>>;
/** What a new note is made of. */
export const noteDraft = {
  ...noteBody,
  internal: Type.Optional(
    Type.Boolean({ description: "Whether it is for members from Planner on; requires that role" }),
  ),
  confidential: Type.Optional(Type.Boolean({ description: "The previous name of `internal`" })),
  created_at: Type.Optional(Type.String({ format: "date-time", description: "For Owners and administrators" })),
};
export type NewNote = Static<Type.TObject<typeof noteDraft>>;
