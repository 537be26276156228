import type { Domain } from "#domains/foundation/domain.ts";
import { conversationConstraints } from "./constraints.ts";
import { conversationDeletions } from "./deletions.ts";
import type { ItemKind } from "./items/item.ts";
import { markdownEndpoints } from "./markdown/routes.ts";

/** Texts refer to items of some kinds. Each domain above makes the endpoints for the notes and emoji on its own. */
export const conversation = (kinds: readonly ItemKind[]): Domain => ({
  resources: { markdown: markdownEndpoints(kinds) },
  constraints: conversationConstraints,
  deletions: conversationDeletions,
});
