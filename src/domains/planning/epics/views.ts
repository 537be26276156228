import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { namespacesByIds, type NamespaceRow } from "#domains/foundation/namespaces/queries.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import type { Answer } from "#domains/conversation/items/answer.ts";
import { NO_VOTES, votesOfItems } from "#domains/planning/items/counts.ts";
import { withDescriptions } from "#domains/conversation/items/descriptions.ts";
import { isSubscribedTo } from "#domains/attention/subscriptions/queries.ts";
import { issueViews } from "#domains/planning/issues/views.ts";
import { labelNamesOf } from "#domains/planning/labels/views.ts";
import { inheritedDates } from "./dates.ts";
import { type Epic, type EpicIssue, type IssueOfEpic, presentEpic, type SingleEpic } from "./entity.ts";
import type { IssueOfEpicRow, Joined } from "./issues.ts";
import { EPIC } from "./kind.ts";
import { type EpicRow, noEpic, parentsOf } from "./queries.ts";

/** The caller, and what links and references are built from. */
export interface EpicViewer extends Answer {
  readonly actor: Actor | null;
  readonly site: string;
  /** The group that the request names; references are full without it. */
  readonly group?: { readonly id: number };
  /** The groups of the epics, if they have been read. */
  readonly groups?: readonly NamespaceRow[];
}

/** What is the same before and after an epic is stored. */
type Draft = Pick<EpicRow, "group_id" | "parent_id" | "author_id">;

/** Reads what some epics are presented with, except for what belongs to each alone. */
export async function surroundingsOf(db: Db, rows: readonly Draft[], viewer: EpicViewer) {
  const { actor, site, group } = viewer;
  const groupIds = rows.map(({ group_id }) => group_id).concat(group?.id ?? []);
  const groups = viewer.groups ?? (await namespacesByIds(db, [...new Set(groupIds)]));
  const paths = new Map(groups.map((row) => [row.id, row.full_path]));
  const authorIds = rows.map(({ author_id }) => author_id);
  const authors = await usersById(db, authorIds, site);
  const parents = await parentsOf(db, rows, actor);
  return (row: Draft) => ({
    site,
    path: paths.get(row.group_id) ?? "",
    from: paths.get(group?.id ?? 0) ?? "",
    parent: parents.get(row.parent_id ?? 0),
    author: authors.get(row.author_id),
  });
}

/** Presents epics in the order of the rows with a constant number of statements. */
export async function epicViews(db: Db, rows: readonly EpicRow[], viewer: EpicViewer): Promise<Epic[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const surroundings = await surroundingsOf(db, rows, viewer);
  const dates = await inheritedDates(db, ids, viewer.actor);
  const labels = await labelNamesOf(db, EPIC, ids, viewer);
  const votes = await votesOfItems(db, EPIC, ids);
  return (await withDescriptions(db, "epics", rows, viewer)).map((row) =>
    presentEpic(row, {
      ...surroundings(row),
      inherited: dates.get(row.id),
      votes: votes.get(row.id) ?? NO_VOTES,
      labels: labels(row.id),
    }),
  );
}

/** One epic by itself. */
export async function epicView(db: Db, row: EpicRow, viewer: EpicViewer): Promise<SingleEpic> {
  const [view] = await epicViews(db, [row], viewer);
  const subscribed = await isSubscribedTo(db, { kind: EPIC, id: row.id }, viewer.actor);
  return view ? { ...view, subscribed } : noEpic();
}

/** The issues of an epic in the order of the rows. */
export async function issueOfEpicViews(
  db: Db,
  rows: readonly IssueOfEpicRow[],
  viewer: EpicViewer,
): Promise<Static<typeof IssueOfEpic>[]> {
  const views = await issueViews(db, rows, viewer);
  return rows.flatMap(({ epic_issue_id, relative_position }, index) => {
    const view = views[index];
    return view ? { ...view, epic_issue_id, relative_position } : [];
  });
}

/** An epic with one of its issues. */
export async function epicIssueView(
  db: Db,
  { epic: row, issue: issueRow }: Joined,
  viewer: EpicViewer,
): Promise<Static<typeof EpicIssue>> {
  const [epic] = await epicViews(db, [row], viewer);
  const [issue] = await issueViews(db, [issueRow], viewer);
  return epic && issue ? { id: issueRow.epic_issue_id, epic, issue } : noEpic();
}
