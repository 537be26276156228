import type { Db, Tx } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { isAvailableIn, type LabelContainer, nearestFirst } from "#domains/planning/items/containers.ts";
import type { LabelName } from "./params.ts";

/** The labels, as rows of `l`, with their priority in a project. */
export const labels = (db: Db, projectId: number | null) =>
  db
    .selectFrom("labels as l")
    .leftJoin("label_priorities as lp", (join) =>
      join.onRef("lp.label_id", "=", "l.id").on("lp.project_id", "=", projectId),
    )
    .select(["l.id", "l.project_id", "l.group_id", "l.name", "l.description", "l.color", "l.archived", "l.updated_at"])
    .select("lp.priority");

export type LabelRow = Awaited<ReturnType<ReturnType<typeof labels>["executeTakeFirstOrThrow"]>>;

const labelsIn = (db: Db, container: LabelContainer) =>
  labels(db, "project_id" in container ? container.project_id : null)
    .where(isAvailableIn(container))
    .orderBy(nearestFirst(container));

type Query = ReturnType<typeof labelsIn>;

export const requireLabel = (db: Db, container: LabelContainer, named: LabelName): Promise<LabelRow> =>
  findLabel(labelsIn(db, container), named);

/** The same, locked against other changes; items can still get the label. */
export const lockLabel = (tx: Tx, container: LabelContainer, named: LabelName): Promise<LabelRow> =>
  findLabel(labelsIn(tx, container).forNoKeyUpdate("l"), named);

/** The same, once no other transaction gives it to an item. */
export const lockLabelToDelete = (tx: Tx, container: LabelContainer, named: LabelName): Promise<LabelRow> =>
  findLabel(labelsIn(tx, container).forUpdate("l"), named);

/** A name may look like an id, so a label is looked up by id first. */
async function findLabel(query: Query, { label_id, name = label_id ?? "" }: LabelName): Promise<LabelRow> {
  const id = label_id !== undefined && /^\d{1,16}$/.test(label_id) ? Number(label_id) : Number.NaN;
  const byId = Number.isSafeInteger(id) ? await query.where("l.id", "=", id).executeTakeFirst() : undefined;
  const label = byId ?? (await query.where("l.name", "=", name.trim()).limit(1).executeTakeFirst());
  if (!label) throw missing("Label");
  return label;
}
