import { reassignOfUser, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const conversationDeletions: Deletions = {
  columns: {
    "notes.author_id": "moved to the ghost user",
    // A discussion keeps its id when the note that began it is deleted.
    "notes.discussion_id": "kept",
    "award_emoji.user_id": "removed first",
  },
  ofUser: [removeOfUser("award_emoji", "user_id"), reassignOfUser("notes", "author_id")],
};
