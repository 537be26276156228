import Type from "typebox";
import { Id } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { IssueId } from "#domains/planning/issues/params.ts";

const event = { resource_label_event_id: Id };

export const IssueLabelEventId = Type.Object({ ...IssueId.properties, ...event });

export const EpicByAnyId = Type.Object({
  ...GroupId.properties,
  epic_id: Type.Integer({ minimum: 0, description: "Its id; if the group has no epic with that id, its `iid`" }),
});
export const EpicLabelEventId = Type.Object({ ...EpicByAnyId.properties, ...event });
