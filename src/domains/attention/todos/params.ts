import Type, { type Static } from "typebox";
import { Id } from "#http/params/vocabulary.ts";
import { ITEM_NAMES } from "#domains/conversation/items/item.ts";

/** The causes of a to-do. */
export const ACTIONS = ["assigned", "mentioned", "marked", "review_requested"] as const;
/** Those that clients know and that nothing here has yet. */
const OTHER_ACTIONS = [
  ...["build_failed", "approval_required", "unmergeable", "directly_addressed", "merge_train_removed"],
  ...["member_access_requested", "review_submitted"],
];
const OTHER_TARGET_TYPES = ["Commit", "DesignManagement::Design", "AlertManagement::Alert"];

export const TodoId = Type.Object({ id: Id });

export const TodoFilters = Type.Object({
  action: Type.Optional(Type.Enum([...ACTIONS, ...OTHER_ACTIONS])),
  author_id: Type.Optional(Id),
  project_id: Type.Optional(Id),
  group_id: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "Epics of this group, issues and merge requests of its projects, and those below it",
    }),
  ),
  state: Type.Enum(["pending", "done"], { default: "pending" }),
  type: Type.Optional(Type.Enum([...ITEM_NAMES, ...OTHER_TARGET_TYPES])),
});
export type TodoFilters = Static<typeof TodoFilters>;
