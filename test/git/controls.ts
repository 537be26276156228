import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { killBeforeEvents, type Lane, problemsIn, push, type Target } from "./lane.ts";

/** Something that is known to be wrong, which the checks have to find. */
interface Control {
  readonly name: string;
  readonly sees: RegExp;
  /** Makes it, looks at it, and mends it. */
  run(lane: Lane): Promise<readonly string[]>;
}

const firstOf = ({ targets }: Lane): Target => targets[0] as Target;

export const controls: readonly Control[] = [
  {
    name: "somebody who takes silence for success",
    sees: /was acknowledged and is lost/,
    async run(lane) {
      const target = firstOf(lane);
      await lane.installation.kill();
      const pushed = await push(lane, target, "silence");
      await lane.installation.start();
      const refs = pushed.refs.map((each) => ({ ...each, outcome: "done" as const }));
      target.pushes.splice(target.pushes.indexOf(pushed), 1, { ...pushed, refs });
      const found = await problemsIn(lane);
      target.pushes.pop();
      return found;
    },
  },
  {
    name: "half of an atomic push",
    sees: /of an atomic push 3 of 4 refs/,
    async run(lane) {
      const [, , target] = lane.targets as [Target, Target, Target];
      const pushed = await push(lane, target, "half");
      const more = { ref: "refs/heads/half-3", id: "0".repeat(40), outcome: "unknown" as const };
      target.pushes.splice(-1, 1, { ...pushed, refs: [...pushed.refs, more] });
      const found = await problemsIn(lane);
      target.pushes.splice(-1, 1, pushed);
      return found;
    },
  },
  {
    name: "an event that is told twice",
    sees: /1 events too many/,
    async run(lane) {
      const { ask } = lane.installation;
      const columns = "created_at, project_id, author_id, action, push_action, ref_type, ref, commit_from, commit_to";
      const [row] = await ask<{ id: number }>(
        `insert into events (${columns}) select ${columns} from events
         where project_id = $1 and ref_count is null limit 1 returning id`,
        [firstOf(lane).project.id],
      );
      const found = await problemsIn(lane);
      await ask("delete from events where id = $1", [row?.id]);
      return found;
    },
  },
  {
    name: "a ref that leads nowhere",
    sees: /fsck of project \d+: error: refs\/heads\/nowhere/,
    async run(lane) {
      const target = firstOf(lane);
      const path = join(lane.installation.directory(target.project) ?? "", "refs/heads/nowhere");
      await writeFile(path, `${"1".repeat(40)}\n`);
      const found = await lane.installation.fsck(target.project);
      await rm(path);
      return found;
    },
  },
  {
    name: "a push whose intent is forgotten",
    sees: /no event tells of/,
    async run(lane) {
      await killBeforeEvents(lane, "forgotten");
      await lane.installation.ask("delete from pushes");
      await lane.installation.start();
      return problemsIn(lane);
    },
  },
];
