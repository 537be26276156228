import type { Databases } from "#db/database.ts";
import { type Lookup, texts } from "#db/loader.ts";

/** Where a full path leads, and whether it is an address of before. */
interface Found {
  readonly key: string;
  readonly namespace_id: number | null;
  readonly project_id: number | null;
  readonly moved: boolean;
}

// Each path gives a row, found or not. Each part of it is looked for below what the part before it led to; at each, what is there now wins over what was.
const byFullPath: Lookup<string, Found> = {
  text: `
    with recursive asked as (
      select key, string_to_array(key, '/') as parts from unnest($1::text[]) key
    ), walk as (
      select key, parts, 0 as depth, 0::bigint as namespace_id, null::bigint as project_id, '{}'::boolean[] as moved
      from asked
      union all
      select w.key, w.parts, w.depth + 1, r.namespace_id, r.project_id, w.moved || r.moved
      from walk w join routes r on r.parent_id = w.namespace_id and r.path = w.parts[w.depth + 1]
      where w.depth < cardinality(w.parts)
    )
    select distinct on (asked.key) asked.key, w.namespace_id, w.project_id, true = any(w.moved) as moved
    from asked left join walk w on w.key = asked.key and w.depth = cardinality(w.parts) order by asked.key, w.moved`,
  keys: texts,
  key: (row) => row.key,
};

const MOST_PARTS = 21;

async function find(db: Databases, fullPath: string): Promise<Found | undefined> {
  const key = fullPath.toLowerCase();
  return key === "" || key.split("/").length > MOST_PARTS ? undefined : db.point.load(byFullPath, key);
}

export interface Address {
  readonly id: number;
  /** True where the path is one of before. */
  readonly moved: boolean;
}

/** No row has this id: whoever looks it up does the same work as for a thing that the caller may not see. */
const NOWHERE: Address = { id: 0, moved: false };

const idOf = (text: string): number => (/^\d{1,16}$/.test(text) ? Number(text) : Number.NaN);

/** The id that a caller means by an id or a full path; the thing itself need not exist. */
export async function projectAddress(db: Databases, idOrPath: string): Promise<Address> {
  const id = idOf(idOrPath);
  if (Number.isSafeInteger(id)) return { id, moved: false };
  const found = idOrPath.includes("/") ? await find(db, idOrPath) : undefined;
  return found?.project_id ? { id: found.project_id, moved: found.moved } : NOWHERE;
}

/** The same for a namespace, whose path may be one word. */
export async function namespaceAddress(db: Databases, idOrPath: string): Promise<Address> {
  const id = idOf(idOrPath);
  if (Number.isSafeInteger(id)) return { id, moved: false };
  const found = await find(db, idOrPath);
  return found?.namespace_id ? { id: found.namespace_id, moved: found.moved } : NOWHERE;
}
