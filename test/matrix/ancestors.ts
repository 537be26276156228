import { sql } from "kysely";
import type { FixtureContext, Name } from "#test/contract.ts";
import { fixtures, makeFixtures } from "#test/support/fixtures.ts";
import type { Grant } from "./callers.ts";
import type { ContainerSpec } from "./tree.ts";
import { group, insert, insertForId, membership, share } from "./rows.ts";

/** The groups above the containers of one caller, three deep. */
export interface Ancestors {
  /** The parent of the containers, and the top-level group. */
  readonly id: number;
  readonly top: number;
  readonly fullPath: string;
  /** The group of each share among the caller's grants. */
  readonly invited: ReadonlyMap<Grant, number>;
  /** The path names of the fixtures of the top-level group. */
  readonly children: ReadonlyMap<string, readonly Name[]>;
}

/** Creates them with the caller's grants above; `owner` is an Owner of the top-level group. */
export async function makeAncestors(context: FixtureContext, spec: ContainerSpec, owner: number): Promise<Ancestors> {
  const { db } = context;
  const { caller, acting, kind, state } = spec;
  const newGroup = (...given: Parameters<typeof group>) => insertForId(db, "namespaces", group(...given));
  const top = await newGroup(null, { archived: state === "archived above" });
  const middle = await newGroup(top);
  const id = await newGroup(middle);
  await insert(db, "members", [membership({ group_id: top }, owner, "owner")]);
  const children = new Map<string, readonly Name[]>();
  for (const [fixture, { above }] of fixtures) {
    if (!above) continue;
    const [names = []] = await makeFixtures(context, fixture, [{ kind: "group", id: top, name: "above" }]);
    children.set(fixture, names);
  }
  const invited = new Map<Grant, number>();
  const join = (group_id: number, { level, ends }: Grant) =>
    insert(db, "members", [membership({ group_id }, acting ?? 0, level, ends)]);

  for (const grant of acting === undefined ? [] : (caller.grants ?? [])) {
    if (grant.share) {
      const parent = await newGroup(null, { visibility: "private" });
      const child = await newGroup(parent, { visibility: "private" });
      invited.set(grant, child);
      await join(grant.share.throughParent ? parent : child, grant);
      // A group must have an Owner whose membership does not expire.
      await insert(db, "members", [membership({ group_id: child }, owner, "owner")]);
      if (grant.at === "above")
        await insert(db, "shares", [share({ group_id: top }, child, grant.share.upTo, grant.share.ends)]);
    } else if (grant.at === "above") await join(top, grant);
    // A project cannot have members with minimal access, but its group can.
    else if (grant.at === "it" && grant.level === "minimal" && kind === "project") await join(id, grant);
  }
  const { rows } = await sql<{ path: string }>`
    select string_agg(path, '/' order by cardinality(traversal_ids)) as path
    from namespaces where id in (${top}, ${middle}, ${id})`.execute(db);
  return { id, top, invited, children, fullPath: rows[0]?.path ?? "" };
}
