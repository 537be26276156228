import Type from "typebox";
import { EpicByAnyId } from "#domains/planning/epics/params.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { note, noteBody, noteDraft } from "#domains/planning/notes/params.ts";

const discussion = { discussion_id: Type.String({ description: "40 hexadecimal digits" }) };
const { body, created_at } = noteDraft;

export const IssueDiscussionId = Type.Object({ ...IssueId.properties, ...discussion });
export const NewIssueDiscussion = Type.Object({ ...IssueId.properties, ...noteDraft });
export const IssueReply = Type.Object({ ...IssueDiscussionId.properties, body, created_at });
export const IssueDiscussionNoteId = Type.Object({ ...IssueDiscussionId.properties, ...note });
export const IssueDiscussionNoteChanges = Type.Object({ ...IssueDiscussionNoteId.properties, ...noteBody });

export const EpicDiscussionId = Type.Object({ ...EpicByAnyId.properties, ...discussion });
export const NewEpicDiscussion = Type.Object({ ...EpicByAnyId.properties, ...noteDraft });
export const EpicReply = Type.Object({ ...EpicDiscussionId.properties, body, created_at });
export const EpicDiscussionNoteId = Type.Object({ ...EpicDiscussionId.properties, ...note });
export const EpicDiscussionNoteChanges = Type.Object({ ...EpicDiscussionNoteId.properties, ...noteBody });
