import { type RawBuilder, sql } from "kysely";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { groupVisibleTo, memberProjects, visibleTo } from "#access/visible.ts";
import type { Databases, Db } from "#db/database.ts";
import { order } from "#db/lists/order.ts";
import { ACTIONS } from "#domains/foundation/events/record.ts";
import { inSubtree, namespaceInSubtree } from "#domains/planning/items/subtree.ts";
import type { EventFilters } from "./params.ts";
import { isVisible, LOOKED_UP, rightsByContainer, rightsByProject, rightsInProject } from "./visibility.ts";

export const PAGING = {
  id: "ev.id",
  orders: { created_at: order("ev.created_at", "timestamptz") },
  keyset: ["created_at"],
  sort: "desc",
} as const;

const events = (db: Db) =>
  db
    .selectFrom("events as ev")
    .select(["ev.id", "ev.created_at", "ev.project_id", "ev.group_id", "ev.author_id", "ev.action"])
    .select(["ev.target_type", "ev.target_id", "ev.push_action", "ev.ref_type", "ev.ref", "ev.commit_from"])
    .select(["ev.commit_to", "ev.commit_count", "ev.commit_title", "ev.ref_count"]);

type Events = ReturnType<typeof events>;
export type EventRow = Awaited<ReturnType<Events["executeTakeFirstOrThrow"]>>;
type Condition = RawBuilder<boolean>;

/** The events of a project that an actor may see now, whoever saw them when they happened. */
export const eventsOfProject = (db: Db, project: ProjectSeen, actor: Actor, filters: EventFilters): Events =>
  filtered(events(db), filters)
    .where("ev.project_id", "=", project.id)
    .where(isVisible(actor, rightsInProject(actor, project)));

/** The events by an author that an actor may see. Those of groups are in no feed of a user. */
export const eventsByAuthor = (db: Db, authorId: number, actor: Actor, filters: EventFilters): Events =>
  inVisibleProjects(filtered(events(db), filters).where("ev.author_id", "=", authorId), actor);

/** A feed about several projects or groups. */
interface WideFeed {
  readonly query: Events;
  /** Whether they are few enough that the events can be counted. */
  readonly isCounted: boolean;
}

/** The events of all projects that the actor is a member of. */
export async function eventsOfOwnProjects(
  { read, readAnew }: Pick<Databases, "read" | "readAnew">,
  actor: Actor,
  filters: EventFilters,
): Promise<WideFeed> {
  const own = memberProjects(actor.user.id).map(({ scan }) => sql`select p.id, p.last_activity_at from ${scan} p`);
  const ids = await latestIds(read, sql`${sql.join(own, sql` union all `)}`);
  // How much happens in the projects decides the plan.
  const query = filtered(events(readAnew), filters).where(isAmong("ev.project_id", ids));
  return { query: inVisibleProjects(query, actor), isCounted: ids.length <= MAX_COUNTED_CONTAINERS };
}

/** The events of a group, of the groups below it and of the projects in them. */
export async function eventsOfGroup(
  { read, readAnew }: Pick<Databases, "read" | "readAnew">,
  group: GroupSeen,
  actor: Actor,
  filters: EventFilters,
): Promise<WideFeed> {
  const projects = await latestIds(
    read,
    sql`select p.id, p.last_activity_at from projects p where ${inSubtree(group)} and ${visibleTo(actor)}`,
  );
  // Without the offset PostgreSQL reads all groups that the actor may see.
  const groups = await latestIds(
    read,
    sql`select n.id, n.updated_at as last_activity_at
      from (select * from namespaces n where ${namespaceInSubtree(group, "n.id")} offset 0) n
      where ${groupVisibleTo(actor)}`,
  );
  const query = filtered(events(readAnew), filters, { ...TARGETS, epic: "Epic" })
    .where(sql<boolean>`(${isAmong("ev.project_id", projects)} or ${isAmong("ev.group_id", groups)})`)
    .innerJoin(rightsByContainer(actor, "ev.project_id", "ev.group_id"), (join) => join.onTrue())
    .where(isVisible(actor, LOOKED_UP));
  return { query, isCounted: projects.length + groups.length <= MAX_COUNTED_CONTAINERS };
}

/** How many projects, and groups, a feed is about at most: of more, those in which something happened last. */
const MAX_CONTAINERS = 1_000;
/** The newest events of more are quick to find, but not to count. */
const MAX_COUNTED_CONTAINERS = 100;

/** The ids of the rows with the latest `last_activity_at`. */
async function latestIds(db: Db, rows: RawBuilder<unknown>): Promise<number[]> {
  const found = await sql<{ id: number }>`
    select id from (${rows}) containers order by last_activity_at desc, id desc
    limit ${sql.lit(MAX_CONTAINERS)}`.execute(db);
  return found.rows.map(({ id }) => id);
}

const isAmong = (column: string, ids: readonly number[]): Condition =>
  sql`${sql.ref(column)} = any(${`{${ids.join(",")}}`}::bigint[])`;

const inVisibleProjects = (query: Events, actor: Actor): Events =>
  query.innerJoin(rightsByProject(actor, "ev.project_id"), (join) => join.onTrue()).where(isVisible(actor, LOOKED_UP));

const filtered = (query: Events, { action, target_type, before, after }: EventFilters, targets = TARGETS): Events =>
  query
    .$if(action !== undefined, (some) => some.where("ev.action", "=", ACTIONS[action ?? "created"]))
    .$if(target_type !== undefined, (some) => some.where(hasTarget(targets, target_type ?? "")))
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

function hasTarget(targets: typeof TARGETS, type: string): Condition {
  if (type === "project") return sql`ev.target_type is null`;
  const target = targets[type];
  if (target === undefined) return sql`false`;
  // As documented: comments in discussions of merge requests cannot be asked for.
  const isDiscussion = sql`exists (select from notes note
    where note.id = ev.target_id and note.merge_request_id is not null and note.discussion_id is not null)`;
  return sql`(ev.target_type = ${target} and ${type === "note" ? sql`not ${isDiscussion}` : sql`true`})`;
}

interface TargetRow {
  readonly id: number;
  readonly iid: number;
  readonly title: string;
}

/** The targets of one kind by their ids. */
export async function targetsOf(
  db: Db,
  table: "issues" | "merge_requests" | "epics" | "milestones",
  ids: readonly number[],
) {
  if (ids.length === 0) return new Map<number, TargetRow>();
  const { rows } = await sql<TargetRow>`
    select id, iid, title from ${sql.table(table)} where id = any(${ids}::bigint[])`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
