import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import { referenceIn } from "#domains/planning/items/references.ts";
import { recordChanges } from "#domains/planning/items/system-notes.ts";
import { EPIC } from "./kind.ts";
import type { EpicRow } from "./queries.ts";

interface Named {
  readonly id: number;
  readonly iid: number;
  readonly path: string;
}

/** Records on an epic that its parent changes, and on the previous and the new parent. */
export async function recordParent(
  tx: Tx,
  { id, parent_id: before }: Pick<EpicRow, "id" | "parent_id">,
  after: number | null,
  userId: number,
) {
  const { rows } = await sql<Named>`
    select e.id, e.iid, ${fullPath("n")} as path from epics e join namespaces n on n.id = e.group_id
    where e.id = any(${[id, before ?? 0, after ?? 0]}::bigint[])`.execute(tx);
  const named = (one: number | null) => rows.find((row) => row.id === one);
  const child = named(id);
  const record = async (verb: "added" | "removed", parent: Named | undefined) => {
    if (!child || !parent) return;
    const say = (on: Named, other: Named, relation: string) =>
      recordChanges(
        tx,
        { kind: EPIC, id: on.id },
        userId,
        [`${verb} ${relation} epic ${referenceIn(on.path, EPIC, other)}`],
        { kind: EPIC, id: other.id },
      );
    await say(child, parent, "parent");
    await say(parent, child, "child");
  };
  await record("removed", named(before));
  await record("added", named(after));
}
