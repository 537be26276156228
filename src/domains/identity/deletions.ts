import { reassignOfUser, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { removeFollows } from "./follows/actions.ts";

export const identityDeletions: Deletions = {
  columns: {
    "users.namespace_id": "removed first",
    "users.created_by_id": "moved to the ghost user",
    "follows.follower_id": "removed first",
    "follows.followed_id": "removed first",
    "personal_access_tokens.user_id": "removed first",
    "emails.user_id": "cascade",
    "identities.user_id": "cascade",
    "keys.user_id": "cascade",
    "second_factors.user_id": "cascade",
    "sessions.user_id": "cascade",
    "sign_in_attempts.user_id": "cascade",
    "user_custom_attributes.user_id": "cascade",
    "user_statuses.user_id": "cascade",
  },
  ofUser: [
    (tx, { id }) => removeFollows(tx, id),
    removeOfUser("personal_access_tokens", "user_id"),
    reassignOfUser("users", "created_by_id"),
  ],
};
