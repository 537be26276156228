import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { ACTIONS } from "#domains/foundation/events/record.ts";
import { Note } from "#domains/conversation/notes/entity.ts";
import type { EventRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Text = Nullable(Type.String());

const PushData = Type.Object(
  {
    commit_count: Nullable(Type.Integer({ description: "Null if they were too many to count" })),
    action: Type.Enum(["created", "removed", "pushed"]),
    ref_type: Type.Enum(["branch", "tag"]),
    commit_from: Text,
    commit_to: Text,
    ref: Text,
    commit_title: Text,
    ref_count: Nullable(Type.Integer({ description: "How many refs one event stands for; null for a single ref" })),
  },
  { ...exact, title: "PushData" },
);

const OF_PROJECTS = ["Issue", "MergeRequest", "Milestone", "Note", "DiscussionNote"] as const;

const event = {
  id: Type.Integer(),
  title: Type.Null(),
  project_id: Type.Integer(),
  action_name: Type.String(),
  target_id: Nullable(Type.Integer()),
  target_iid: Nullable(Type.Integer({ description: "The number of the target in its project, or its id" })),
  target_type: Nullable(Type.Enum([...OF_PROJECTS])),
  target_title: Text,
  author_id: Type.Integer(),
  author: Nullable(UserSummary),
  author_username: Nullable(Type.String()),
  created_at: Type.String({ format: "date-time" }),
  imported: Type.Literal(false),
  imported_from: Type.Literal("none"),
  data: Type.Null(),
  note: Type.Optional(Type.Object({ ...Note.properties, attachment: Type.Null() }, { ...exact, title: "EventNote" })),
  push_data: Type.Optional(PushData),
};

/** Something that a user did in a project. */
export const ActivityEvent = Type.Object(event, { ...exact, title: "ActivityEvent" });
export type ActivityEvent = Static<typeof ActivityEvent>;

/** Something that a user did in a project of a group or in the group itself. */
export const GroupActivityEvent = Type.Object(
  {
    ...event,
    project_id: Nullable(Type.Integer({ description: "Null for what belongs to a group" })),
    group_id: Nullable(Type.Integer({ description: "The group of an epic or milestone; null for the others" })),
    target_type: Nullable(Type.Enum([...OF_PROJECTS, "Epic"])),
  },
  { ...exact, title: "GroupActivityEvent" },
);
export type GroupActivityEvent = Static<typeof GroupActivityEvent>;

type Action = keyof typeof ACTIONS;
const NAMES = Object.fromEntries(Object.entries(ACTIONS).map(([name, number]) => [number, name as Action]));

/** What an action is called where it is not called by its own name. */
const CALLED: Partial<Record<Action, string>> = {
  commented: "commented on",
  merged: "accepted",
  expired: "removed due to membership expiration from",
};

const PUSHES = { created: "pushed new", removed: "deleted", pushed: "pushed to" } as const;

export type PushNames = "plain" | "detailed";

export function actionName({ action, target_type, push_action }: EventRow, pushNames: PushNames): string {
  const name = NAMES[action] ?? "updated";
  if (name === "pushed") return pushNames === "detailed" && push_action !== null ? PUSHES[push_action] : "pushed";
  if (target_type !== null && (name === "created" || name === "reopened")) return "opened";
  return CALLED[name] ?? name;
}

export function pushDataOf(row: EventRow): Pick<ActivityEvent, "push_data"> {
  const { push_action, ref_type, ref, commit_from, commit_to, commit_count, commit_title, ref_count } = row;
  if (push_action === null || ref_type === null) return {};
  const what = { action: push_action, ref_type, ref };
  return { push_data: { ...what, commit_count, commit_from, commit_to, commit_title, ref_count } };
}
