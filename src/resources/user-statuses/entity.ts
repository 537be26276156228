import { type Selectable } from "kysely";
import Type, { type Static } from "typebox";
import type { Database } from "#db/types.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { escapeHtml } from "#lib/html.ts";

/** What a user says of themselves just now; all null where they say nothing. */
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
  // The message is plain text, so in HTML it is that text.
  message_html: row ? escapeHtml(row.message) : null,
  clear_status_at: row?.clear_status_at ?? null,
});
