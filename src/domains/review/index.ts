import type { Domain } from "#domains/foundation/domain.ts";
import { awardEndpoints, noteAwardEndpoints } from "#domains/conversation/award-emoji/endpoints.ts";
import { discussionEndpoints } from "#domains/conversation/discussions/endpoints.ts";
import { labelEventEndpoints } from "#domains/planning/label-events/endpoints.ts";
import { noteEndpoints } from "#domains/conversation/notes/endpoints.ts";
import { subscriptionEndpoints } from "#domains/attention/subscriptions/endpoints.ts";
import { reviewConstraints } from "./constraints.ts";
import { reviewDeletions } from "./deletions.ts";
import { MERGE_REQUESTS } from "./merge-requests/resource.ts";
import { mergeRequests } from "./merge-requests/routes.ts";
import { reviewSeeds } from "./seed.ts";

export const review: Domain = {
  resources: {
    mergeRequests: { ...mergeRequests, ...subscriptionEndpoints(MERGE_REQUESTS) },
    mergeRequestNotes: noteEndpoints(MERGE_REQUESTS),
    mergeRequestDiscussions: discussionEndpoints(MERGE_REQUESTS),
    mergeRequestAwards: awardEndpoints(MERGE_REQUESTS),
    mergeRequestNoteAwards: noteAwardEndpoints(MERGE_REQUESTS),
    mergeRequestLabelEvents: labelEventEndpoints(MERGE_REQUESTS),
  },
  constraints: reviewConstraints,
  deletions: reviewDeletions,
  seeds: reviewSeeds,
};
