import { sql } from "kysely";
import type { Static } from "typebox";
import { hasRole, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { takeIid } from "#domains/planning/items/iids.ts";
import { labelsByName } from "#domains/planning/items/labels.ts";
import { possibleAssignees } from "./assignees.ts";
import type { SingleIssue } from "./entity.ts";
import type { NewIssue } from "./params.ts";
import { presentIssue } from "./present.ts";
import type { IssueRow } from "./queries.ts";
import { type IssueViewer, surroundingsOf } from "./views.ts";

interface IssueWrite extends IssueViewer {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly project: ProjectSeen;
  ignored(name: string): void;
}

/** What only those who manage the issues of a project decide. */
const FOR_PLANNERS = ["labels", "assignee_ids", "assignee_id", "due_date", "start_date", "weight", "discussion_locked"];
const FOR_OWNERS = ["iid", "created_at"];

/** Leaves out the parameters that the caller may not set, and says so. */
function permitted<P extends object>({ actor, project, ignored }: IssueWrite, params: P): Partial<P> {
  const refused = [
    ...(hasRole(actor, project, "planner") ? [] : FOR_PLANNERS),
    ...(hasRole(actor, project, "owner") ? [] : FOR_OWNERS),
  ];
  return Object.fromEntries(
    Object.entries(params).filter(([name]) => {
      const isRefused = refused.includes(name);
      if (isRefused) ignored(name);
      return !isRefused;
    }),
  ) as Partial<P>;
}

/** Creates an issue. Its number is taken by the last statement, since everybody else who creates one waits for it. */
export async function createIssue(
  write: IssueWrite,
  params: Static<typeof NewIssue>,
): Promise<Static<typeof SingleIssue>> {
  const { tx, actor, project } = write;
  const given = { ...permitted(write, params), title: params.title };
  const labels = await labelsByName(tx, labelContainer(project), given.labels ?? [], true);
  const assignee_ids = await possibleAssignees(tx, project.id, assigneesIn(given) ?? []);
  const draft = {
    project_id: project.id,
    author_id: actor.user.id,
    title: given.title,
    description: given.description ?? null,
    issue_type: given.issue_type ?? "issue",
    confidential: given.confidential ?? false,
    discussion_locked: given.discussion_locked ?? null,
    weight: given.weight ?? null,
    start_date: given.start_date ?? null,
    due_date: given.due_date ?? null,
    closed_by_id: null,
    assignee_ids,
  } as const;
  const surroundings = await surroundingsOf(tx, [draft], write);
  const created = await insertIssue(
    tx,
    draft,
    labels.map(({ id }) => id),
    given,
  );
  const row: IssueRow = { ...draft, ...created, state: "opened", closed_at: null, moved_to_id: null };
  const names = labels.map(({ name }) => name).toSorted();
  return { ...presentIssue(row, { ...surroundings(row), labels: names, blocking: 0, epic: null }), subscribed: true };
}

const labelContainer = ({ id, traversal_ids }: ProjectSeen) => ({ project_id: id, traversal_ids });

interface Assignees {
  readonly assignee_ids?: readonly number[] | null;
  readonly assignee_id?: number | null;
}

/** The assignees that a request names, by a list or one; undefined if it names none. */
const assigneesIn = ({ assignee_ids, assignee_id }: Assignees): readonly number[] | undefined =>
  assignee_ids === undefined
    ? assignee_id === undefined
      ? undefined
      : assignee_id
        ? [assignee_id]
        : []
    : (assignee_ids ?? []);

type Draft = Omit<IssueRow, "id" | "iid" | "created_at" | "updated_at" | "state" | "closed_at" | "moved_to_id">;
type Created = Pick<IssueRow, "id" | "iid" | "created_at" | "updated_at">;

/** Inserts an issue with its assignees and labels in one statement, which locks the counter of the project. */
async function insertIssue(
  tx: Tx,
  draft: Draft,
  labelIds: readonly number[],
  { iid, created_at }: { iid?: number; created_at?: string },
): Promise<Created> {
  const { rows } = await sql<Created>`
    with counter as (${takeIid("issue", draft.project_id, iid)}), issue as (
      insert into issues (project_id, iid, author_id, title, description, issue_type, confidential, discussion_locked,
        weight, start_date, due_date, created_at)
      select ${draft.project_id}, iid, ${draft.author_id}, ${draft.title}, ${draft.description}, ${draft.issue_type},
        ${draft.confidential}, ${draft.discussion_locked}, ${draft.weight}, ${draft.start_date}, ${draft.due_date},
        coalesce(${created_at ?? null}, now())
      from counter returning id, iid, created_at, updated_at
    ), assigned as (
      insert into issue_assignees (issue_id, user_id) select id, unnest(${draft.assignee_ids}::bigint[]) from issue
    ), linked as (
      insert into label_links (issue_id, label_id) select id, unnest(${labelIds}::bigint[]) from issue
    ), recorded as (
      insert into label_events (issue_id, user_id, label_id, action)
      select id, ${draft.author_id}, unnest(${labelIds}::bigint[]), 'add' from issue
    )
    select * from issue`.execute(tx);
  return rows[0]!;
}
