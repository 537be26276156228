import Type, { type Static } from "typebox";
import { defineJob, type JobContext } from "#jobs/define.ts";
import { namesakesOf } from "#domains/planning/items/namesakes.ts";
import { clearBatch, mergeBatch, removeNamesake } from "./merge.ts";

/** Takes a deleted milestone from its items. */
export const clearMilestone = defineJob({
  name: "milestones.clear",
  queue: "bulk",
  payload: Type.Object({ milestone_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ milestone_id }) => String(milestone_id),
  async run({ payload, step, signal }) {
    while ((await step((tx) => clearBatch(tx, payload.milestone_id))) > 0) signal.throwIfAborted();
  },
});

const Promoted = Type.Object({ milestone_id: Type.Integer(), title: Type.String() }, { additionalProperties: false });
type Merge = Pick<JobContext<Static<typeof Promoted>>, "payload" | "step" | "signal">;

/** Merges the milestones of a group's projects into the promoted milestone of the same title. */
export const mergeMilestones = defineJob({
  name: "milestones.merge",
  queue: "bulk",
  payload: Promoted,
  key: ({ milestone_id }) => String(milestone_id),
  async run({ services, ...context }) {
    const { milestone_id, title } = context.payload;
    for (;;) {
      const namesakes = await namesakesOf(services.db.write, "milestones", milestone_id, title);
      if (namesakes.length === 0) return;
      for (const { id } of namesakes) await mergeNamesake(context, id);
    }
  },
});

const MAX_PASSES = 10;

async function mergeNamesake({ payload: { milestone_id }, step, signal }: Merge, namesake: number) {
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    while ((await step((tx) => mergeBatch(tx, namesake, milestone_id))) > 0) signal.throwIfAborted();
    if (await step((tx) => removeNamesake(tx, namesake, milestone_id))) return;
  }
  throw new Error(`milestone ${namesake} gets new items faster than they are moved`);
}
