import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { summariesOf } from "#domains/identity/users/queries.ts";
import type { Answer } from "#domains/planning/items/answer.ts";
import { textsOf } from "#domains/planning/items/descriptions.ts";
import { presentNote } from "#domains/planning/notes/entity.ts";
import { notes } from "#domains/planning/notes/queries.ts";
import type { Services } from "#services.ts";
import { actionName, type ActivityEvent, pushDataOf } from "./entity.ts";
import { type EventRow, targetsOf } from "./queries.ts";

interface EventViewer extends Answer {
  readonly site: string;
  readonly services: Pick<Services, "settings">;
}

type Target = Pick<ActivityEvent, "target_id" | "target_iid" | "target_type" | "target_title" | "note">;

const NO_TARGET: Target = { target_id: null, target_iid: null, target_type: null, target_title: null };

/** Presents events in the order of the rows with a constant number of statements. The caller may see their targets. */
export async function eventViews(db: Db, rows: readonly EventRow[], viewer: EventViewer): Promise<ActivityEvent[]> {
  if (rows.length === 0) return [];
  const { push_action_names: pushNames } = await viewer.services.settings.current();
  const people = await summariesOf(db, [...new Set(rows.map(({ author_id }) => author_id))]);
  const authors = new Map(people.map((row) => [row.id, presentSummary(viewer.site)(row)]));
  const targetOf = await targetsOfEvents(db, rows, authors, viewer);
  return rows.flatMap((row) => {
    const target = targetOf(row);
    if (!target || row.project_id === null) return [];
    const author = authors.get(row.author_id) ?? null;
    return {
      id: row.id,
      title: null,
      project_id: row.project_id,
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
    } satisfies ActivityEvent;
  });
}

type Authors = ReadonlyMap<number, NonNullable<ActivityEvent["author"]>>;

/** What the events are about. Nothing for a target that was deleted since the row was read. */
async function targetsOfEvents(db: Db, rows: readonly EventRow[], authors: Authors, answer: Answer) {
  const idsOf = (type: string) =>
    rows.flatMap(({ target_type, target_id }) => (target_type === type ? (target_id ?? []) : []));
  const issues = await targetsOf(db, "issues", idsOf("Issue"));
  const milestones = await targetsOf(db, "milestones", idsOf("Milestone"));
  const comments = await commentsOf(db, idsOf("Note"), authors, answer);
  return ({ target_type, target_id }: EventRow): Target | undefined => {
    if (target_type === null || target_id === null) return NO_TARGET;
    if (target_type === "Note") return comments.get(target_id);
    const found = (target_type === "Issue" ? issues : milestones).get(target_id);
    const isMilestone = target_type === "Milestone";
    if (!found && !isMilestone) return undefined;
    return {
      target_id,
      target_iid: found?.iid ?? target_id,
      target_type: isMilestone ? "Milestone" : "Issue",
      target_title: found?.title ?? null,
    };
  };
}

/** Comments on issues by their ids; who wrote one is the author of its event. */
async function commentsOf(db: Db, ids: readonly number[], authors: Authors, answer: Answer) {
  if (ids.length === 0) return new Map<number, Target>();
  const rows = await notes(db)
    .innerJoin("issues as i", "i.id", "note.issue_id")
    .select(["i.id as issue_id", "i.iid", "i.project_id"])
    .where("note.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
  const bodies = await textsOf(db, "notes", ids, answer);
  return new Map(
    rows.flatMap((row): [number, Target][] => {
      const body = bodies.get(row.id);
      if (body === undefined) return [];
      const of = { column: "issue_id", id: row.issue_id, iid: row.iid, project_id: row.project_id } as const;
      const note = { ...presentNote({ ...row, body }, of, authors.get(row.author_id ?? 0)), attachment: null };
      return [
        [row.id, { target_id: row.id, target_iid: row.id, target_type: note.type ?? "Note", target_title: null, note }],
      ];
    }),
  );
}
