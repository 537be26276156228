import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { LabelledItem } from "./labels.ts";

/** A note before it is stored. */
export interface NoteDraft {
  readonly body: string;
  readonly authorId: number;
  /** Whether it records a change instead of what somebody wrote. */
  readonly system?: boolean;
  readonly internal?: boolean;
  readonly createdAt?: string | undefined;
  /** The note that began the discussion in which it replies. */
  readonly discussionId?: number | undefined;
  /** The other item that the record of a change names; those who may not see that one do not see the note. */
  readonly other?: LabelledItem | undefined;
}

export interface CreatedNote {
  readonly id: number;
  readonly author_id: number | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly system: boolean;
  readonly internal: boolean;
  readonly discussion_id: number | null;
  readonly body: string;
}

/** Stores notes on an issue or epic in their order. Every note is created here, comments as well as records of changes. */
export async function createNotes(
  tx: Tx,
  { column, id }: LabelledItem,
  drafts: readonly NoteDraft[],
): Promise<CreatedNote[]> {
  if (drafts.length === 0) return [];
  return tx
    .insertInto("notes")
    .values(
      drafts.map(({ body, authorId, system = false, internal = false, createdAt, discussionId, other }) => ({
        [column]: id,
        author_id: authorId,
        body,
        system,
        internal,
        discussion_id: discussionId ?? null,
        other_issue_id: other?.column === "issue_id" ? other.id : null,
        other_epic_id: other?.column === "epic_id" ? other.id : null,
        created_at: createdAt ?? sql<string>`now()`,
        updated_at: createdAt ?? sql<string>`now()`,
      })),
    )
    .returning(["id", "author_id", "created_at", "updated_at", "system", "internal", "discussion_id", "body"])
    .execute();
}
