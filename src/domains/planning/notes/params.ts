import Type from "typebox";
import { Id, Text } from "#http/params/vocabulary.ts";
import { EpicByAnyId } from "#domains/planning/epics/params.ts";
import { IssueId } from "#domains/planning/issues/params.ts";

const MAX_BODY_LENGTH = 1_048_576;

export const note = { note_id: Id };
export const noteBody = { body: Text(MAX_BODY_LENGTH) };
const filters = {
  activity_filter: Type.Enum(["all_notes", "only_comments", "only_activity"], {
    default: "all_notes",
    description: "Whether to list comments, the record of changes, or both",
  }),
};
/** What a new note is made of. */
export const noteDraft = {
  ...noteBody,
  internal: Type.Optional(
    Type.Boolean({ description: "Whether it is for members from Planner on; this takes that role" }),
  ),
  confidential: Type.Optional(Type.Boolean({ description: "The previous name of `internal`" })),
  created_at: Type.Optional(Type.String({ format: "date-time", description: "For Owners and administrators" })),
};

export const IssueNoteFilters = Type.Object({ ...IssueId.properties, ...filters });
export const IssueNoteId = Type.Object({ ...IssueId.properties, ...note });
export const NewIssueNote = Type.Object({ ...IssueId.properties, ...noteDraft });
export const IssueNoteChanges = Type.Object({ ...IssueNoteId.properties, ...noteBody });

export const EpicNoteFilters = Type.Object({ ...EpicByAnyId.properties, ...filters });
export const EpicNoteId = Type.Object({ ...EpicByAnyId.properties, ...note });
export const NewEpicNote = Type.Object({ ...EpicByAnyId.properties, ...noteDraft });
export const EpicNoteChanges = Type.Object({ ...EpicNoteId.properties, ...noteBody });
