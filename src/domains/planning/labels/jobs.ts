import { sql } from "kysely";
import Type, { type Static } from "typebox";
import { defineJob, type JobContext } from "#jobs/define.ts";
import type { JobKind } from "#jobs/kind.ts";
import { removeBatch } from "#domains/foundation/deletions/batches.ts";
import type { ItemKind } from "#domains/conversation/items/item.ts";
import { type Namesake, namesakesOf } from "#domains/planning/items/namesakes.ts";
import { moveBatchOfLinks, removeNamesake } from "./merge.ts";

/** Removes the links of a deleted label. */
export const removeLabelLinks = defineJob({
  name: "labels.remove_links",
  queue: "bulk",
  payload: Type.Object({ label_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ label_id }) => String(label_id),
  async run({ payload, step, signal }) {
    const removeSome = () => step((tx) => removeBatch(tx, "label_links", sql`label_id = ${payload.label_id}`));
    while ((await removeSome()) > 0) signal.throwIfAborted();
  },
});

const Promoted = Type.Object({ label_id: Type.Integer(), name: Type.String() }, { additionalProperties: false });
type Merge = Pick<JobContext<Static<typeof Promoted>>, "payload" | "step" | "signal">;

/** Merges the labels of a group's projects into the promoted label of the same name. */
export const mergeLabelsKind = {
  name: "labels.merge",
  queue: "bulk",
  payload: Promoted,
  key: ({ label_id }) => String(label_id),
} as const satisfies JobKind<typeof Promoted>;

/** The labels of projects are on items of the kinds that are in projects. */
export const mergeLabels = (kinds: readonly ItemKind[]) =>
  defineJob({
    ...mergeLabelsKind,
    async run({ services, ...context }) {
      const { label_id, name } = context.payload;
      const labelled = kinds.filter(({ container }) => container === "project");
      for (;;) {
        const namesakes = await namesakesOf(services.db.write, "labels", label_id, name);
        if (namesakes.length === 0) return;
        for (const namesake of namesakes) await mergeNamesake(context, labelled, namesake);
      }
    },
  });

const MAX_PASSES = 10;

async function mergeNamesake(
  { payload: { label_id }, step, signal }: Merge,
  kinds: readonly ItemKind[],
  namesake: Namesake,
) {
  const moveAll = async (kind: ItemKind) => {
    const moveAfter = (iid: number) => step((tx) => moveBatchOfLinks(tx, kind, namesake, label_id, iid));
    for (let last = await moveAfter(0); last !== undefined; last = await moveAfter(last)) signal.throwIfAborted();
  };
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    for (const kind of kinds) await moveAll(kind);
    if (await step((tx) => removeNamesake(tx, namesake, label_id))) return;
  }
  throw new Error(`label ${namesake.id} gets new links faster than they are moved`);
}
