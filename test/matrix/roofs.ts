import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { Grant } from "./callers.ts";
import type { PlaceWish } from "./land.ts";
import { event, group, insert, insertForId, membership, share } from "./rows.ts";

/** The groups above the places of one caller, three deep. */
export interface Roof {
  /** The group that the places are in, and the topmost one. */
  readonly id: number;
  readonly top: number;
  readonly fullPath: string;
  /** The group of each share among the caller's grants. */
  readonly invited: ReadonlyMap<Grant, number>;
  /** An audit event of the topmost group. */
  readonly event: number;
}

/** Makes them with what the caller has up there; `also` are an Owner of the topmost group and a group it is shared with. */
export async function makeRoof(db: Db, wish: PlaceWish, also: { user: number; group: number }): Promise<Roof> {
  const { caller, acting, kind, state } = wish;
  const newGroup = (...given: Parameters<typeof group>) => insertForId(db, "namespaces", group(...given));
  const top = await newGroup(null, { archived: state === "archived above" });
  const middle = await newGroup(top);
  const id = await newGroup(middle);
  await insert(db, "members", [membership({ group_id: top }, also.user, "owner")]);
  await insert(db, "shares", [share({ group_id: top }, also.group, "guest")]);
  const invited = new Map<Grant, number>();
  const join = (group_id: number, { level, ends }: Grant) =>
    insert(db, "members", [membership({ group_id }, acting ?? 0, level, ends)]);

  for (const grant of acting === undefined ? [] : (caller.grants ?? [])) {
    if (grant.share) {
      const parent = await newGroup(null, { visibility: "private" });
      const child = await newGroup(parent, { visibility: "private" });
      invited.set(grant, child);
      await join(grant.share.throughParent ? parent : child, grant);
      // A group has to have an Owner who stays.
      await insert(db, "members", [membership({ group_id: child }, also.user, "owner")]);
      if (grant.at === "above")
        await insert(db, "shares", [share({ group_id: top }, child, grant.share.upTo, grant.share.ends)]);
    } else if (grant.at === "above") await join(top, grant);
    // A project has no members of minimal access, but its group has.
    else if (grant.at === "it" && grant.level === "minimal" && kind === "project") await join(id, grant);
  }
  const { rows } = await sql<{ path: string }>`
    select string_agg(path, '/' order by cardinality(traversal_ids)) as path
    from namespaces where id in (${top}, ${middle}, ${id})`.execute(db);
  return {
    ...{ id, top, invited, fullPath: rows[0]?.path ?? "" },
    event: await insertForId(db, "audit_events", event("Group", top)),
  };
}
