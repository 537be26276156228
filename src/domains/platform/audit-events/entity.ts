import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { ENTITIES } from "./params.ts";
import type { AuditRow } from "./queries.ts";

const Details = Type.Object(
  {
    author_name: Type.String({ description: "Username of the author, as it was then" }),
    target_id: Nullable(Type.Integer()),
    target_type: Nullable(Type.String()),
    target_details: Nullable(Type.String({ description: "Name of the target, as it was then" })),
    ip_address: Nullable(Type.String()),
    entity_path: Nullable(Type.String({ description: "Where the user, group or project is now; null if it is gone" })),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: "Further details of the event, such as the changed fields",
    }),
  },
  { additionalProperties: false },
);

/** Who did what, to what, when and from where. */
export const AuditEvent = Type.Object(
  {
    id: Type.Integer(),
    author_id: Nullable(Type.Integer()),
    sudo_author_id: Nullable(Type.Integer({ description: "The administrator who acted in the author's place" })),
    entity_id: Nullable(Type.Integer()),
    entity_type: Type.Enum([...ENTITIES]),
    event_name: Type.String(),
    request_id: Type.String(),
    details: Details,
    created_at: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false, title: "AuditEvent" },
);

export const presentEvent =
  (pathOf: (row: AuditRow) => string | undefined) =>
  (row: AuditRow): Static<typeof AuditEvent> => ({
    id: row.id,
    author_id: row.actor_id,
    sudo_author_id: row.sudo_actor_id,
    entity_id: row.entity_id,
    entity_type: row.entity_type,
    event_name: row.event,
    request_id: row.request_id,
    details: {
      author_name: row.actor_name,
      target_id: row.target_id,
      target_type: row.target_type,
      target_details: row.target_name,
      ip_address: row.ip_address,
      entity_path: pathOf(row) ?? null,
      data: row.details as Record<string, unknown>,
    },
    created_at: row.created_at,
  });
