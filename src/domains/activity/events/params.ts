import Type, { type Static } from "typebox";
import { ACTIONS } from "#domains/foundation/events/record.ts";

type Action = keyof typeof ACTIONS;

/** What clients filter by; of some kinds there are no events yet, or none in the feeds. */
const TARGET_TYPES = [
  ...(["issue", "milestone", "merge_request", "note", "project", "snippet", "user", "wiki", "design", "epic"] as const),
];

export const EventFilters = Type.Object({
  action: Type.Optional(Type.Enum(Object.keys(ACTIONS) as Action[])),
  target_type: Type.Optional(
    Type.Enum(TARGET_TYPES, { description: "`project` for what happened to a project itself, pushes included" }),
  ),
  before: Type.Optional(Type.String({ format: "date", description: "A day in UTC; the events before it" })),
  after: Type.Optional(Type.String({ format: "date", description: "A day in UTC; the events after it" })),
});
export type EventFilters = Static<typeof EventFilters>;

export const OwnEventFilters = Type.Object({
  ...EventFilters.properties,
  scope: Type.Optional(
    Type.String({
      maxLength: 255,
      description: "`all` for the events of everybody in the projects that one is a member of",
    }),
  ),
});
