import type { ItemKind } from "#domains/conversation/items/item.ts";
import { notifyOfComment } from "#domains/attention/notifications/comments.ts";
import { issueVisibleTo, isNamedVisible } from "#domains/planning/items/visibility.ts";
import { readersOfStoredIssue } from "./readers.ts";

export const ISSUE = {
  ...{ name: "Issue", word: "issue", sign: "#", container: "project" },
  ...{ table: "issues", alias: "i", column: "issue_id", otherColumn: "other_issue_id" },
  people: ["issue_assignees"],
  ...{ isVisible: issueVisibleTo, isNamedVisible },
  readers: readersOfStoredIssue,
  commented: notifyOfComment,
} as const satisfies ItemKind;
