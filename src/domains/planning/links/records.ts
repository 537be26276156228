import type { Tx } from "#db/database.ts";
import { recordChanges } from "#domains/planning/items/system-notes.ts";
import type { LinkedView, LinkKind } from "./kinds.ts";
import type { LinkType } from "./queries.ts";
import type { LinkView } from "./views.ts";

const RELATIONS: Readonly<Record<LinkType, string>> = {
  relates_to: "related to",
  blocks: "blocking",
  is_blocked_by: "blocked by",
};
const REVERSED = { relates_to: "relates_to", blocks: "is_blocked_by", is_blocked_by: "blocks" } as const;

/** Records on both ends of a link that somebody created or deleted it. */
export async function recordLink(
  tx: Tx,
  { item }: Pick<LinkKind, "item">,
  { source, target, type }: LinkView<LinkedView>,
  userId: number,
  change: "created" | "deleted",
) {
  const record = async (one: LinkedView, other: LinkedView, relation: LinkType) => {
    const reference = referenceTo(other, one);
    const body =
      change === "created"
        ? `marked this ${item.word} as ${RELATIONS[relation]} ${reference}`
        : `removed the relation with ${reference}`;
    await recordChanges(tx, { kind: item, id: one.id }, userId, [body], { kind: item, id: other.id });
  };
  await record(source, target, type);
  await record(target, source, REVERSED[type]);
}

/** The short reference within one project or group, the full one elsewhere. */
function referenceTo({ references: { short, full } }: LinkedView, { references: from }: LinkedView): string {
  const pathOf = (reference: LinkedView["references"]) => reference.full.slice(0, -reference.short.length);
  return pathOf({ short, full }) === pathOf(from) ? short : full;
}
