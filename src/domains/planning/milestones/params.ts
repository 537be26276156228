import Type, { type Static } from "typebox";
import { CommaList, DateOnly, DateTime, Id, Line, Nullable } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { Iid } from "#domains/planning/items/params.ts";

const MAX_IIDS = 100;

const filters = {
  ...ProjectId.properties,
  iids: Type.Optional(
    CommaList(Iid, { maxItems: MAX_IIDS, description: "Numbers in the project or group; ignored with its ancestors" }),
  ),
  state: Type.Optional(Type.Enum(["active", "closed", "all"])),
  title: Type.Optional(Type.String({ maxLength: 255, description: "The whole title" })),
  search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the title or description" })),
  include_ancestors: Type.Optional(Type.Boolean({ description: "Whether milestones of the groups above count" })),
  include_parent_milestones: Type.Optional(Type.Boolean({ description: "The same, by its former name" })),
  updated_before: Type.Optional(DateTime),
  updated_after: Type.Optional(DateTime),
  containing_date: Type.Optional(
    Type.String({ format: "date-time", description: "A day from the start date to the due date, in UTC" }),
  ),
};

export const ProjectMilestoneFilters = Type.Object(filters);

export const GroupMilestoneFilters = Type.Object({
  ...filters,
  include_descendants: Type.Optional(
    Type.Boolean({ description: "Whether milestones of the groups and projects below count" }),
  ),
});

export const MilestoneId = Type.Object({ ...ProjectId.properties, milestone_id: Id });

/** A page of milestones, or of issues with theirs, stays within some megabytes. */
const MAX_DESCRIPTION = 20_000;

const details = {
  description: Type.Optional(Nullable(Type.String({ maxLength: MAX_DESCRIPTION }))),
  start_date: Type.Optional(Nullable(DateOnly)),
  due_date: Type.Optional(Nullable(DateOnly)),
};

export const NewMilestone = Type.Object({ ...ProjectId.properties, title: Line(255), ...details });

export const MilestoneChanges = Type.Object(
  {
    ...MilestoneId.properties,
    title: Type.Optional(Line(255)),
    ...details,
    state_event: Type.Optional(Type.Enum(["close", "activate"])),
  },
  { atLeastOneOf: [["title", ...Object.keys(details), "state_event"]] },
);

export type NewMilestone = Omit<Static<typeof NewMilestone>, "id">;
export type MilestoneChanges = Omit<Static<typeof MilestoneChanges>, "id">;
