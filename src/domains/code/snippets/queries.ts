import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { belongsTo, openVisibilities, visibleTo } from "#access/visible.ts";
import type { Db, Tx } from "#db/database.ts";
import type { Condition } from "#db/lists/order.ts";
import { missing } from "#lib/refusal.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";

/** The snippets, as rows of `s`, with the path of their project. */
export const snippets = (db: Db) =>
  db
    .selectFrom("snippets as s")
    .innerJoin("repositories as r", "r.snippet_id", "s.id")
    .leftJoin("projects as sp", "sp.id", "s.project_id")
    .leftJoin("namespaces as sn", "sn.id", "sp.namespace_id")
    .select(["s.id", "s.title", "s.description", "s.visibility", "s.created_at", "s.updated_at", "s.project_id"])
    .select(["s.author_id", "r.file_names", "r.storage as repository_storage"])
    .select(
      sql<string | null>`case when s.project_id is not null then ${fullPath("sn")} || '/' || sp.path end`.as(
        "project_path",
      ),
    );

export type SnippetRow = Awaited<ReturnType<ReturnType<typeof snippets>["executeTakeFirstOrThrow"]>>;

/** The snippet, locked until it is deleted. */
export async function lockedSnippet(tx: Tx, id: number) {
  const row = tx.selectFrom("snippets").select("updated_at").where("id", "=", id).forUpdate();
  const found = await row.executeTakeFirst();
  if (!found) throw missing("Snippet");
  return found;
}

/** Whether an actor may see the row of `snippets as s`; the same as `visibleSnippet`. */
export function snippetVisibleTo(actor: Actor | null): Condition {
  const isOpen = openToActor(actor);
  const isMember = actor ? sql`or ${belongsTo(actor.user.id)}` : sql``;
  return sql`case when s.project_id is null then ${isOpen} else exists (
    select from projects p
    where p.id = s.project_id and ${visibleTo(actor, { feature: "snippets" })} and (${isOpen} ${isMember})) end`;
}

/** The same among the snippets of a project that the actor sees and, if `isMember`, belongs to. */
export const snippetVisibleInProject = (actor: Actor | null, isMember: boolean): Condition =>
  isMember ? sql`true` : openToActor(actor);

const openToActor = (actor: Actor | null): Condition => {
  const isOpen = sql<boolean>`s.visibility = any(${openVisibilities(actor)}::smallint[])`;
  return actor ? sql`(${isOpen} or s.author_id = ${actor.user.id})` : isOpen;
};

/** Whether the row of `snippets as s` was created in a time. */
export const createdBetween = ({
  created_after: after,
  created_before: before,
}: {
  readonly created_after?: string;
  readonly created_before?: string;
}): Condition => sql`${after === undefined ? sql`true` : sql`s.created_at >= ${after}`}
  and ${before === undefined ? sql`true` : sql`s.created_at <= ${before}`}`;
