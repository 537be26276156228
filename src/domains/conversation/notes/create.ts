import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Item } from "#domains/conversation/items/item.ts";

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
  readonly other?: Item | undefined;
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

/** Stores notes on an issue or epic in their order: comments as well as records of changes. */
export async function createNotes(tx: Tx, { kind, id }: Item, drafts: readonly NoteDraft[]): Promise<CreatedNote[]> {
  if (drafts.length === 0) return [];
  return tx
    .insertInto("notes")
    .values(
      drafts.map(({ body, authorId, system = false, internal = false, createdAt, discussionId, other }) => ({
        [kind.column]: id,
        author_id: authorId,
        body,
        system,
        internal,
        discussion_id: discussionId ?? null,
        ...(other?.kind.otherColumn && { [other.kind.otherColumn]: other.id }),
        created_at: createdAt ?? sql<string>`now()`,
        updated_at: createdAt ?? sql<string>`now()`,
      })),
    )
    .returning(["id", "author_id", "created_at", "updated_at", "system", "internal", "discussion_id", "body"])
    .execute();
}

/** How much of its comments an issue takes along when it is moved: as much as fits into one answer. */
const MAX_COPIED_BYTES = 8 * 1024 ** 2;

/**
 * Copies the comments of an issue to another one with their authors, times and discussions, the oldest first. The caller
 * has locked the issue, so that no comment is added meanwhile. Returns how many bytes they have.
 */
export async function copyComments(tx: Tx, fromIssueId: number, toIssueId: number): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    with copied as materialized (
      select old.*, nextval(pg_get_serial_sequence('notes', 'id')) as new_id
      from (
        select id, author_id, body, internal, discussion_id, created_at, updated_at,
          sum(octet_length(body)) over (order by id) as bytes
        from notes where issue_id = ${fromIssueId} and not system order by id
      ) old
      where old.bytes <= ${sql.lit(MAX_COPIED_BYTES)}
    ), inserted as (
      insert into notes (id, issue_id, author_id, body, internal, discussion_id, created_at, updated_at)
      select new_id, ${toIssueId}, author_id, body, internal,
        case when discussion_id is not null then min(new_id) over (partition by discussion_id) end, created_at, updated_at
      from copied
    )
    select coalesce(max(bytes), 0)::integer as bytes from copied`.execute(tx);
  return rows[0]?.bytes ?? 0;
}
