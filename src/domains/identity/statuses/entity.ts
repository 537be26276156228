import { type Selectable } from "kysely";
import Type, { type Static } from "typebox";
import type { Database } from "#db/types.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { escapeHtml } from "#lib/html.ts";

/** The status message of a user; all fields are null if none is set. */
export const UserStatus = Type.Object(
  {
    emoji: Nullable(Type.String()),
    message: Nullable(Type.String()),
    availability: Nullable(Type.String({ description: "`busy` or `not_set`" })),
    message_html: Nullable(Type.String()),
    clear_status_at: Nullable(Type.String({ format: "date-time" })),
  },
  { additionalProperties: false, title: "UserStatus" },
);

export type StatusRow = Omit<Selectable<Database["user_statuses"]>, "user_id">;

export const presentStatus = (row: StatusRow | undefined): Static<typeof UserStatus> => ({
  emoji: row?.emoji ?? null,
  message: row?.message ?? null,
  availability: row?.availability ?? null,
  // The message is plain text, not Markdown.
  message_html: row ? escapeHtml(row.message) : null,
  clear_status_at: row?.clear_status_at ?? null,
});
