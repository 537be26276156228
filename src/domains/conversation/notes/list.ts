import { sql } from "kysely";
import type { Listing } from "#db/lists/list-page.ts";
import { order } from "#db/lists/order.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";
import { noteVisibleIn } from "./visibility.ts";
import type { NoteFilters } from "./params.ts";

export const PAGING = {
  id: "note.id",
  orders: {
    created_at: order("note.created_at", "timestamptz"),
    updated_at: order("note.updated_at", "timestamptz"),
  },
  keyset: ["created_at", "updated_at"],
  sort: "desc",
} as const;

/** The notes of an item that an actor may see. */
export const listNotes = (of: ItemSeen, { activity_filter }: NoteFilters): Listing => ({
  from: "notes as note",
  sources: [
    {
      scan: sql`(select note.* from notes note
        where ${sql.ref(`note.${of.kind.column}`)} = ${of.id} and ${noteVisibleIn(of)})`,
    },
  ],
  filters: [
    activity_filter === "only_comments" && sql`not note.system`,
    activity_filter === "only_activity" && sql`note.system`,
  ],
});
