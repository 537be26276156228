import { visibleTo } from "#access/visible.ts";
import type { ItemKind } from "#domains/conversation/items/item.ts";
import { notifyOfComment } from "#domains/attention/notifications/comments.ts";
import { readersOfStoredMergeRequest } from "./readers.ts";

export const MERGE_REQUEST = {
  ...{ name: "MergeRequest", word: "merge request", sign: "!", container: "project" },
  ...{ table: "merge_requests", alias: "mr", column: "merge_request_id" },
  people: ["merge_request_assignees", "merge_request_reviewers"],
  isVisible: (actor) => visibleTo(actor, { feature: "merge_requests" }),
  readers: readersOfStoredMergeRequest,
  commented: notifyOfComment,
} as const satisfies ItemKind;
