import Type from "typebox";
import { Id } from "#http/params/vocabulary.ts";
import { EpicByAnyId } from "#domains/planning/epics/params.ts";
import { IssueId } from "#domains/planning/issues/params.ts";

const event = { resource_label_event_id: Id };

export const IssueLabelEventId = Type.Object({ ...IssueId.properties, ...event });

export const EpicLabelEventId = Type.Object({ ...EpicByAnyId.properties, ...event });
