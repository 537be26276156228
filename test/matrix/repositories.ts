import { hash } from "node:crypto";
import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { word } from "./rows.ts";

/** A stream for `git fast-import` of a first commit with some files. */
export const firstCommitOf = (files: readonly string[]): string => `commit refs/heads/main
author A <a@example.com> 1700000000 +0000
committer A <a@example.com> 1700000000 +0000
data 3
Add
${files.map((file) => `M 100644 inline ${file}\ndata 1\na\n`).join("")}`;

/** A path that no repository has. */
export function newRepositoryPath(): string {
  const digest = hash("sha256", word(), "hex");
  return `@hashed/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
}

/** The columns that name the owner of a move, with those of its repository. */
const OWNERS = { project_id: "project_id", snippet_id: "snippet_id", group_id: "wiki_group_id" } as const;

/** A failed move for each owner, in the same order; an owner may have several. */
export async function failedMoves(db: Db, owner: keyof typeof OWNERS, ids: readonly number[]): Promise<number[]> {
  const named = sql.ref(`r.${OWNERS[owner]}`);
  const { rows } = await sql<{ id: number }>`
    insert into repository_storage_moves
      (repository_id, ${sql.ref(owner)}, state, source_storage, destination_storage, error_message, started_at,
        finished_at)
    select r.id, ${named}, 'failed', r.storage, 'second', 'There is no space left', now(), now()
    from unnest(${ids}::bigint[]) with ordinality asked (id, turn) join repositories r on ${named} = asked.id
    order by turn returning id`.execute(db);
  return rows.map(({ id }) => id);
}
