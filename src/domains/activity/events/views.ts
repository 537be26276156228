import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { type UsersById, usersById } from "#domains/identity/users/summaries.ts";
import type { Answer } from "#domains/conversation/items/answer.ts";
import { EPIC } from "#domains/planning/epics/kind.ts";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import { textsOf } from "#domains/conversation/items/descriptions.ts";
import { presentNote } from "#domains/conversation/notes/entity.ts";
import { notes } from "#domains/conversation/notes/queries.ts";
import { MERGE_REQUEST } from "#domains/review/merge-requests/kind.ts";
import type { Services } from "#services.ts";
import { actionName, type ActivityEvent, type GroupActivityEvent, pushDataOf } from "./entity.ts";
import { type EventRow, targetsOf } from "./queries.ts";

/** The kinds of items that people comment on. */
const KINDS = [ISSUE, EPIC, MERGE_REQUEST] as const;

interface EventViewer extends Answer {
  readonly site: string;
  readonly services: Pick<Services, "settings">;
}

type Target = Pick<GroupActivityEvent, "target_id" | "target_iid" | "target_type" | "target_title" | "note">;

const NO_TARGET: Target = { target_id: null, target_iid: null, target_type: null, target_title: null };

/** Presents events of projects in the order of the rows. The caller may see their targets. */
export async function eventViews(db: Db, rows: readonly EventRow[], viewer: EventViewer): Promise<ActivityEvent[]> {
  const views = await groupEventViews(db, rows, viewer);
  return views.flatMap(({ group_id, ...view }) => (group_id === null ? [view as ActivityEvent] : []));
}

/** The same for events of projects and groups, with a constant number of statements. */
export async function groupEventViews(
  db: Db,
  rows: readonly EventRow[],
  viewer: EventViewer,
): Promise<GroupActivityEvent[]> {
  if (rows.length === 0) return [];
  const { push_action_names: pushNames } = await viewer.services.settings.current();
  const authorIds = rows.map(({ author_id }) => author_id);
  const authors = await usersById(db, authorIds, viewer.site);
  const targetOf = await targetsOfEvents(db, rows, authors, viewer);
  return rows.flatMap((row) => {
    const target = targetOf(row);
    if (!target) return [];
    const author = authors.get(row.author_id) ?? null;
    return {
      id: row.id,
      title: null,
      project_id: row.project_id,
      group_id: row.group_id,
      action_name: actionName(row, pushNames),
      ...target,
      author_id: row.author_id,
      author,
      author_username: author?.username ?? null,
      created_at: row.created_at,
      imported: false,
      imported_from: "none",
      data: null,
      ...pushDataOf(row),
    } satisfies GroupActivityEvent;
  });
}

/** What the events are about. Nothing for a target that was deleted since the row was read. */
async function targetsOfEvents(db: Db, rows: readonly EventRow[], authors: UsersById, answer: Answer) {
  const idsOf = (type: string) =>
    rows.flatMap(({ target_type, target_id }) => (target_type === type ? (target_id ?? []) : []));
  const issues = await targetsOf(db, "issues", idsOf("Issue"));
  const mergeRequests = await targetsOf(db, "merge_requests", idsOf("MergeRequest"));
  const epics = await targetsOf(db, "epics", idsOf("Epic"));
  const milestones = await targetsOf(db, "milestones", idsOf("Milestone"));
  const tables = { Issue: issues, MergeRequest: mergeRequests, Epic: epics, Milestone: milestones };
  const comments = await commentsOf(db, idsOf("Note"), authors, answer);
  return ({ target_type, target_id }: EventRow): Target | undefined => {
    if (target_type === null || target_id === null) return NO_TARGET;
    if (target_type === "Note") return comments.get(target_id);
    const found = tables[target_type].get(target_id);
    if (!found && target_type !== "Milestone") return undefined;
    return { target_id, target_iid: found?.iid ?? target_id, target_type, target_title: found?.title ?? null };
  };
}

/** Comments by their ids; who wrote one is the author of its event. */
async function commentsOf(db: Db, ids: readonly number[], authors: UsersById, answer: Answer) {
  if (ids.length === 0) return new Map<number, Target>();
  const rows = await notes(db)
    .leftJoin("issues as i", "i.id", "note.issue_id")
    .leftJoin("merge_requests as mr", "mr.id", "note.merge_request_id")
    .leftJoin("epics as e", "e.id", "note.epic_id")
    .select(["i.id as issue_id", "mr.id as merge_request_id", "e.id as epic_id"])
    .select([
      sql<number>`coalesce(i.iid, mr.iid, e.iid)`.as("iid"),
      sql<number | null>`coalesce(i.project_id, mr.project_id)`.as("project_id"),
    ])
    .where("note.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
  const bodies = await textsOf(db, "notes", ids, answer);
  return new Map(
    rows.flatMap((row): [number, Target][] => {
      const body = bodies.get(row.id);
      const kind = KINDS.find(({ column }) => row[column] !== null);
      const id = kind && row[kind.column];
      if (body === undefined || !kind || !id) return [];
      const of = { kind, id, iid: row.iid, project_id: row.project_id } as const;
      const note = { ...presentNote({ ...row, body }, of, authors.get(row.author_id ?? 0)), attachment: null };
      return [
        [row.id, { target_id: row.id, target_iid: row.id, target_type: note.type ?? "Note", target_title: null, note }],
      ];
    }),
  );
}
