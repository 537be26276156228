import type { Databases } from "#db/database.ts";
import { type Lookup, texts } from "#db/loader.ts";

/** What a full path names, and whether it is a previous path. */
interface PathRow {
  readonly key: string;
  readonly namespace_id: number | null;
  readonly project_id: number | null;
  readonly moved: boolean;
}

/**
 * The places that a segment may lead to: one by current paths, the others by previous ones. Groups that take each
 * other's paths, level below level, would double them with each segment.
 */
const MAX_PLACES = 4;
const MAX_COMPONENTS = 21;

/**
 * Each path yields a row, found or not. Each segment is looked up below the one before it; a current path takes
 * precedence over a previous one. `union` keeps one row of a place, however many ways lead to it.
 */
export const byFullPath: Lookup<string, PathRow> = {
  text: `
    with recursive asked as (
      select key, string_to_array(key, '/') as parts from unnest($1::text[]) key
    ), walk as (
      select key, parts, 0 as depth, 0::bigint as namespace_id, null::bigint as project_id, false as moved from asked
      union
      select key, parts, depth, namespace_id, project_id, moved
      from (
        select w.key, w.parts, w.depth + 1 as depth, r.namespace_id, r.project_id, w.moved or r.moved as moved,
          dense_rank() over (partition by w.key order by w.moved or r.moved, r.namespace_id, r.project_id) as place
        from walk w join routes r on r.parent_id = w.namespace_id and r.path = w.parts[w.depth + 1]
        where w.depth < cardinality(w.parts)
      ) step
      where place <= ${MAX_PLACES}
    )
    select distinct on (asked.key) asked.key, w.namespace_id, w.project_id, coalesce(w.moved, false) as moved
    from asked left join walk w on w.key = asked.key and w.depth = cardinality(w.parts) order by asked.key, w.moved`,
  keys: texts,
  key: (row) => row.key,
  // A path may take a hundred times as long as an id.
  maxKeys: 50,
};

async function find(db: Databases, fullPath: string): Promise<PathRow | undefined> {
  const key = fullPath.toLowerCase();
  return key === "" || key.split("/").length > MAX_COMPONENTS ? undefined : db.point.load(byFullPath, key);
}

export interface ResolvedPath {
  readonly id: number;
  /** Whether it is a previous path, which redirects. */
  readonly moved: boolean;
}

/** No row has this id; looking it up takes as long as for a container that the caller may not see. */
const NOT_FOUND: ResolvedPath = { id: 0, moved: false };

const idOf = (text: string): number => (/^\d{1,16}$/.test(text) ? Number(text) : Number.NaN);

/** Resolves the id or full path of a project; a project with that id need not exist. */
export async function resolveProject(db: Databases, idOrPath: string): Promise<ResolvedPath> {
  const id = idOf(idOrPath);
  if (Number.isSafeInteger(id)) return { id, moved: false };
  const found = idOrPath.includes("/") ? await find(db, idOrPath) : undefined;
  return found?.project_id ? { id: found.project_id, moved: found.moved } : NOT_FOUND;
}

/** Resolves the id or full path of a namespace, which may have a single segment. */
export async function resolveNamespace(db: Databases, idOrPath: string): Promise<ResolvedPath> {
  const id = idOf(idOrPath);
  if (Number.isSafeInteger(id)) return { id, moved: false };
  const found = await find(db, idOrPath);
  return found?.namespace_id ? { id: found.namespace_id, moved: found.moved } : NOT_FOUND;
}
