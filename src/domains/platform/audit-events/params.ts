import Type from "typebox";
import { DateTime, Id } from "#http/params/vocabulary.ts";

export const ENTITIES = ["User", "Group", "Project", "Instance"] as const;

export const EventFilters = Type.Object({
  created_after: Type.Optional(DateTime),
  created_before: Type.Optional(DateTime),
});

export const InstanceFilters = Type.Object({
  ...EventFilters.properties,
  entity_type: Type.Optional(Type.Enum([...ENTITIES], { description: "Only events of this type of entity" })),
  entity_id: Type.Optional(Type.Integer({ ...Id, description: "Only events of this entity; needs `entity_type`" })),
});

export const EventId = Type.Object({ id: Id });

const IdOrPath = Type.String({ description: "Id, or full path in one segment" });
export const Container = Type.Object({ id: IdOrPath });
export const EventInContainer = Type.Object({ id: IdOrPath, audit_event_id: Id });
