import type { Db } from "#db/database.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import type { Todo } from "./entity.ts";
import type { TodoKind, TodoTarget, TodoViewer } from "./kinds.ts";
import type { TodoRow } from "./queries.ts";

/** Presents to-dos in the order of the rows with a constant number of statements. The caller may see their items. */
export async function todoViews(
  db: Db,
  kinds: readonly TodoKind[],
  rows: readonly TodoRow[],
  viewer: TodoViewer,
): Promise<Todo[]> {
  const authorIds = rows.map(({ author_id }) => author_id);
  const authors = await usersById(db, authorIds, viewer.site);
  const byKind = kinds.map((kind) => ({ kind, about: rows.filter((row) => row[kind.items.kind.column] !== null) }));
  // The same item may be the target of several to-dos.
  const counts = byKind.flatMap(({ kind, about }) => [
    ...Map.groupBy(about, (row) => row[kind.items.kind.column])
      .values()
      .map(({ length }) => length),
  ]);
  const copies = Math.max(1, ...counts);
  const views = new Map<number, Todo>();
  for (const { kind, about } of byKind) {
    const ids = [...new Set(about.flatMap((row) => row[kind.items.kind.column] ?? []))];
    const found = ids.length === 0 ? [] : await kind.targets(db, ids, { ...viewer, copies });
    const targets = new Map(found.map((each) => [each.target.id, each]));
    for (const row of about) {
      const target = targets.get(row[kind.items.kind.column] ?? 0);
      if (target) views.set(row.id, presentTodo(row, kind, target, authors.get(row.author_id) ?? null));
    }
  }
  return rows.flatMap(({ id }) => views.get(id) ?? []);
}

export async function todoView(db: Db, kinds: readonly TodoKind[], row: TodoRow, viewer: TodoViewer): Promise<Todo> {
  const [view] = await todoViews(db, kinds, [row], viewer);
  if (!view) throw new Error(`to-do ${row.id} has no item`);
  return view;
}

function presentTodo(row: TodoRow, kind: TodoKind, { target, ...container }: TodoTarget, author: Todo["author"]): Todo {
  return {
    id: row.id,
    ...container,
    author,
    action_name: row.action,
    target_type: kind.items.kind.name,
    target,
    target_url: target.web_url,
    body: target.title,
    state: row.state,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
