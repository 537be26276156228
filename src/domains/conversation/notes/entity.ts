import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { ITEM_NAMES } from "#domains/conversation/items/item.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import type { NoteRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Time = Type.String({ format: "date-time" });

/** A comment on an issue or epic, or the record of a change. */
export const Note = Type.Object(
  {
    id: Type.Integer(),
    type: Type.Union([Type.Literal("DiscussionNote"), Type.Null()], {
      description: "`DiscussionNote` if it belongs to a discussion with replies",
    }),
    body: Type.String(),
    author: Nullable(UserSummary),
    created_at: Time,
    updated_at: Time,
    system: Type.Boolean({ description: "Whether it records a change" }),
    noteable_id: Type.Integer({ description: "The id of the issue or epic" }),
    noteable_type: Type.Enum([...ITEM_NAMES]),
    project_id: Nullable(Type.Integer()),
    resolvable: Type.Literal(false),
    confidential: Type.Boolean({ description: "The same as `internal`" }),
    internal: Type.Boolean({ description: "Whether it is for members from Planner on" }),
    imported: Type.Boolean(),
    imported_from: Type.Literal("none"),
    noteable_iid: Type.Integer(),
    commands_changes: Type.Object({}, exact),
  },
  { ...exact, title: "Note" },
);
export type Note = Static<typeof Note>;

export const presentNote = (
  row: NoteRow & { readonly body: string },
  { kind, id, iid, project_id }: Pick<ItemSeen, "kind" | "id" | "iid" | "project_id">,
  author: UserSummary | undefined,
): Note => ({
  id: row.id,
  type: row.discussion_id === null ? null : "DiscussionNote",
  body: row.body,
  author: author ?? null,
  created_at: row.created_at,
  updated_at: row.updated_at,
  system: row.system,
  noteable_id: id,
  noteable_type: kind.name,
  project_id,
  resolvable: false,
  confidential: row.internal,
  internal: row.internal,
  imported: false,
  imported_from: "none",
  noteable_iid: iid,
  commands_changes: {},
});
