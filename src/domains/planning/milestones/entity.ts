import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { MilestoneRow } from "./queries.ts";

const Text = Type.String();
const Time = Type.String({ format: "date-time" });
const Day = Nullable(Type.String({ format: "date" }));

/** A milestone of a project or group. */
export const Milestone = Type.Object(
  {
    id: Type.Integer(),
    iid: Type.Integer({ description: "Its number in the project or group" }),
    project_id: Type.Optional(Type.Integer({ description: "Of a milestone of a project" })),
    group_id: Type.Optional(Type.Integer({ description: "Of a milestone of a group" })),
    title: Text,
    description: Nullable(Text),
    state: Type.Enum(["active", "closed"]),
    created_at: Time,
    updated_at: Time,
    due_date: Day,
    start_date: Day,
    expired: Type.Boolean({ description: "Whether the due date has passed, in UTC" }),
    web_url: Text,
  },
  { additionalProperties: false, title: "Milestone" },
);
export type Milestone = Static<typeof Milestone>;

export const presentMilestone =
  (site: string) =>
  (row: MilestoneRow): Milestone => ({
    id: row.id,
    iid: row.iid,
    ...(row.project_id === null ? { group_id: row.group_id ?? 0 } : { project_id: row.project_id }),
    title: row.title,
    description: row.description,
    state: row.state,
    created_at: row.created_at,
    updated_at: row.updated_at,
    due_date: row.due_date,
    start_date: row.start_date,
    expired: row.expired,
    web_url: `${site}/${row.container_path}/-/milestones/${row.iid}`,
  });
