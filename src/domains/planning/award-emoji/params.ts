import Type from "typebox";
import { Id } from "#http/params/vocabulary.ts";
import { EpicId } from "#domains/planning/epics/params.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { EpicNoteId, IssueNoteId } from "#domains/planning/notes/params.ts";

const award = { award_id: Id };
const draft = {
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    description: "The name of an emoji without colons, such as `thumbsup`",
  }),
};

export const IssueAwardId = Type.Object({ ...IssueId.properties, ...award });
export const NewIssueAward = Type.Object({ ...IssueId.properties, ...draft });
export const IssueNoteAwardId = Type.Object({ ...IssueNoteId.properties, ...award });
export const NewIssueNoteAward = Type.Object({ ...IssueNoteId.properties, ...draft });

export const EpicAwardId = Type.Object({ ...EpicId.properties, ...award });
export const NewEpicAward = Type.Object({ ...EpicId.properties, ...draft });
export const EpicNoteAwardId = Type.Object({ ...EpicNoteId.properties, ...award });
export const NewEpicNoteAward = Type.Object({ ...EpicNoteId.properties, ...draft });
