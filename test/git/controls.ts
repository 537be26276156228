import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { killBeforeEvents, type Lane, problemsIn, push, type Target } from "./lane.ts";

/** A planted breach that the checks have to find. */
interface Control {
  readonly name: string;
  readonly sees: RegExp;
  /** Plants the breach, runs the checks and repairs it. */
  run(lane: Lane): Promise<readonly string[]>;
}

const firstOf = ({ targets }: Lane): Target => targets[0] as Target;

export const controls: readonly Control[] = [
  {
    name: "a client that takes a missing report for success",
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
    name: "an event that is recorded twice",
    sees: /1 events too many/,
    async run(lane) {
      const { query } = lane.installation;
      const columns = "created_at, project_id, author_id, action, push_action, ref_type, ref, commit_from, commit_to";
      const [row] = await query<{ id: number }>(
        `insert into events (${columns}) select ${columns} from events
         where project_id = $1 and push_action is not null and ref_count is null limit 1 returning id`,
        [firstOf(lane).project.id],
      );
      const found = await problemsIn(lane);
      await query("delete from events where id = $1", [row?.id]);
      return found;
    },
  },
  {
    name: "an audit row of a push that never happened",
    sees: /1 audit rows for no recorded push/,
    async run(lane) {
      const { project } = firstOf(lane);
      const connection = await lane.installation.connect();
      try {
        await connection.query(
          `insert into audit_events (event, actor_name, request_id, entity_type, entity_id)
           values ('repository_pushed', '', 'planted', 'Project', $1)`,
          [project.id],
        );
        const found = await problemsIn(lane);
        // Triggers keep the audit log append-only.
        await connection.query("set session_replication_role = replica");
        await connection.query("delete from audit_events where request_id = 'planted'");
        return found;
      } finally {
        await connection.end();
      }
    },
  },
  {
    name: "a ref to a missing object",
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
    name: "a push whose intent is lost",
    sees: /no event tells of/,
    async run(lane) {
      await killBeforeEvents(lane, "forgotten");
      await lane.installation.query("delete from pushes");
      await lane.installation.start();
      return problemsIn(lane);
    },
  },
];
