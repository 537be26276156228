import { type RawBuilder, sql } from "kysely";
import { mayUse, hasRole, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { belongsTo, memberProjects, visibleTo } from "#access/visible.ts";
import type { Databases, Db } from "#db/database.ts";
import { order } from "#db/lists/order.ts";
import { ACTIONS } from "#domains/foundation/events/record.ts";
import { isOpenOrOwn, issuesSeenIn, SEES_CONFIDENTIAL } from "#domains/planning/items/visibility.ts";
import type { EventFilters } from "./params.ts";

export const PAGING = {
  id: "ev.id",
  orders: { created_at: order("ev.created_at", "timestamptz") },
  keyset: ["created_at"],
  sort: "desc",
} as const;

const events = (db: Db) =>
  db
    .selectFrom("events as ev")
    .select(["ev.id", "ev.created_at", "ev.project_id", "ev.author_id", "ev.action", "ev.target_type", "ev.target_id"])
    .select(["ev.push_action", "ev.ref_type", "ev.ref", "ev.commit_from", "ev.commit_to"])
    .select(["ev.commit_count", "ev.commit_title", "ev.ref_count"]);

type Events = ReturnType<typeof events>;
export type EventRow = Awaited<ReturnType<Events["executeTakeFirstOrThrow"]>>;
type Condition = RawBuilder<boolean>;

/** The events of a project that an actor may see now, whoever saw them when they happened. */
export const eventsOfProject = (db: Db, project: ProjectSeen, actor: Actor, filters: EventFilters): Events =>
  filtered(events(db), filters)
    .where("ev.project_id", "=", project.id)
    .where(
      isVisible(actor, {
        project: sql.lit(true),
        repository: sql.lit(mayUse(actor, project, "repository")),
        issues: sql.lit(mayUse(actor, project, "issues")),
        confidential: sql.lit(hasRole(actor, project, SEES_CONFIDENTIAL)),
      }),
    );

/** The events by an author that an actor may see. Those of groups are in no feed of a user. */
export const eventsByAuthor = (db: Db, authorId: number, actor: Actor, filters: EventFilters): Events =>
  filtered(events(db), filters).where("ev.author_id", "=", authorId).where(isVisibleTo(actor));

/** Of somebody with more projects the newest events are nearly always theirs, so that walking all events is quicker. */
const MAX_NAMED_PROJECTS = 1_000;

/** The events of all projects that the actor is a member of. */
export async function eventsOfOwnProjects(
  { read, readAnew }: Pick<Databases, "read" | "readAnew">,
  actor: Actor,
  filters: EventFilters,
): Promise<Events> {
  const own = memberProjects(actor.user.id).map(({ scan }) => sql`select p.id from ${scan} p`);
  const { rows } = await sql<{ id: number }>`
    select id from (${sql.join(own, sql` union all `)}) own limit ${sql.lit(MAX_NAMED_PROJECTS + 1)}`.execute(read);
  const ids = rows.map(({ id }) => id);
  const isOwn: Condition =
    ids.length > MAX_NAMED_PROJECTS
      ? inProject(belongsTo(actor.user.id))
      : sql`ev.project_id = any(${`{${ids.join(",")}}`}::bigint[])`;
  // How much happens in the projects decides the plan.
  return filtered(events(readAnew), filters).where(isOwn).where(isVisibleTo(actor));
}

const filtered = (query: Events, { action, target_type, before, after }: EventFilters): Events =>
  query
    .$if(action !== undefined, (some) => some.where("ev.action", "=", ACTIONS[action ?? "created"]))
    .$if(target_type !== undefined, (some) => some.where(hasTarget(target_type ?? "")))
    .$if(before !== undefined, (some) =>
      some.where(sql<boolean>`ev.created_at < ${before}::timestamp at time zone 'UTC'`),
    )
    .$if(after !== undefined, (some) =>
      some.where(sql<boolean>`ev.created_at >= (${after}::date + 1)::timestamp at time zone 'UTC'`),
    );

const TARGETS: Readonly<Record<string, string>> = {
  issue: "Issue",
  merge_request: "MergeRequest",
  milestone: "Milestone",
  note: "Note",
};

function hasTarget(type: string): Condition {
  if (type === "project") return sql`ev.target_type is null`;
  const target = TARGETS[type];
  return target === undefined ? sql`false` : sql`ev.target_type = ${target}`;
}

const inProject = (condition: Condition): Condition =>
  sql`exists (select from projects p where p.id = ev.project_id and ${condition})`;

const isVisibleTo = (actor: Actor): Condition =>
  inProject(
    isVisible(actor, {
      project: visibleTo(actor),
      repository: visibleTo(actor, { feature: "repository" }),
      ...issuesSeenIn(actor),
    }),
  );

/** What an actor may see in a project: conditions on `projects as p`, or constants for a project that is known. */
interface Rights {
  readonly project: Condition;
  readonly repository: Condition;
  readonly issues: Condition;
  /** Confidential issues and internal comments too. */
  readonly confidential: Condition;
}

/** Whether an actor may see what the row of `events as ev` is about. What was deleted is seen by nobody. */
const isVisible = (actor: Actor, { project, repository, issues, confidential }: Rights): Condition => sql`case
  when ev.action = ${sql.lit(ACTIONS.pushed)} then ${repository}
  when ev.target_type is null then ${project}
  when ev.target_type = 'Issue' then ${issues} and exists (
    select from issues i where i.id = ev.target_id and (${isOpenOrOwn(actor)} or ${confidential}))
  when ev.target_type = 'Milestone' then ${issues} and (ev.action = ${sql.lit(ACTIONS.destroyed)}
    or exists (select from milestones m where m.id = ev.target_id))
  when ev.target_type = 'Note' then ${issues} and exists (
    select from notes note join issues i on i.id = note.issue_id
    where note.id = ev.target_id and ((${isOpenOrOwn(actor)} and not note.internal) or ${confidential}))
  else false
end`;

interface TargetRow {
  readonly id: number;
  readonly iid: number;
  readonly title: string;
}

/** The targets of one kind by their ids. */
export async function targetsOf(db: Db, table: "issues" | "milestones", ids: readonly number[]) {
  if (ids.length === 0) return new Map<number, TargetRow>();
  const { rows } = await sql<TargetRow>`
    select id, iid, title from ${sql.table(table)} where id = any(${ids}::bigint[])`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
