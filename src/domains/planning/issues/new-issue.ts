import { type RawBuilder, sql } from "kysely";
import type { Static } from "typebox";
import type { Databases, Db, Tx } from "#db/database.ts";
import { type AuditEntry, insertAudit } from "#http/audit.ts";
import type { AuditTarget } from "#http/endpoint.ts";
import { creationEvent, projectActivity } from "#domains/foundation/events/record.ts";
import { takeIid } from "#domains/planning/items/iids.ts";
import { labelsByName, type NamedLabel } from "#domains/planning/labels/of-items.ts";
import { ofProject } from "#domains/planning/items/containers.ts";
import { mentionsIn } from "#domains/attention/notifications/mentions.ts";
import { idColumn, mayBeWatched, nextItemId, notify, sendsMail } from "#domains/attention/notifications/notify.ts";
import { todosOf, type ToldPeople } from "#domains/attention/todos/of-items.ts";
import { presentMilestone } from "#domains/planning/milestones/entity.ts";
import type { MilestoneRow } from "#domains/planning/milestones/queries.ts";
import { namedAssignees, possibleAssignees } from "#domains/planning/items/assignees.ts";
import { NO_COUNTS } from "./counts.ts";
import type { SingleIssue } from "./entity.ts";
import { namedMilestone } from "#domains/planning/milestones/of-items.ts";
import { ISSUE } from "./kind.ts";
import type { NewIssue } from "./params.ts";
import { presentIssue } from "./present.ts";
import type { DescribedIssue } from "./queries.ts";
import { readersOfIssue } from "./readers.ts";
import { type IssueWrite, permittedInNew } from "./rights.ts";
import { taskColumns } from "#domains/planning/items/tasks.ts";
import { surroundingsOfNew } from "./views.ts";

/** The context of a request that creates an issue; it has no transaction of its own. */
interface IssueCreation extends Omit<IssueWrite, "tx"> {
  readonly databases: Databases;
  readonly actsForAnother: boolean;
  auditEntry(target: AuditTarget): AuditEntry;
}

/**
 * Creates an issue. The statement that takes its number commits by itself, since everybody else who creates one in the
 * project waits for it: in a transaction they would also wait until this process has sent the commit. If labels are
 * named, which may have to be created, or a milestone, which is locked, or if somebody may have to be mailed, there is
 * one, with this statement as its last.
 */
export async function createIssue(
  { databases, ...write }: IssueCreation,
  params: Static<typeof NewIssue>,
): Promise<Static<typeof SingleIssue>> {
  const given = permittedInNew(write, params);
  const create = async (
    db: Db,
    inTransaction: Databases["transaction"],
    labels: readonly NamedLabel[],
    milestone: MilestoneRow | null,
  ) => {
    const draft = await draftOf(db, write, { ...given, title: params.title, milestone_id: milestone?.id ?? null });
    const surroundings = await surroundingsOfNew(databases, db, draft, write);
    const labelIds = labels.map(({ id }) => id);
    const mentioned = await readersOfIssue(db, draft, mentionsIn(draft.description));
    const told = { assigned: draft.assignee_ids, mentioned };
    const insertion = { ...given, labelIds, userId: write.actor.user.id, told };
    const announced = await hasReaders(write, databases, told);
    const created =
      announced || write.actsForAnother
        ? await inTransaction((tx) => insertTogether(write, tx, draft, insertion, announced))
        : await insertIssue(db, draft, insertion);
    const row: DescribedIssue = { ...draft, ...created, moved_to_id: null };
    const names = labels.map(({ name }) => name).toSorted();
    const around = {
      ...{ ...surroundings, labels: names, milestone: milestone && presentMilestone(write.site)(milestone) },
      ...{ counts: NO_COUNTS, epic: null, movedTo: null },
    };
    return { ...presentIssue(row, around), subscribed: true };
  };
  const { labels, milestone_id } = given;
  if (!labels?.length && !milestone_id) return create(databases.write, databases.transaction, [], null);
  return databases.transaction(async (tx) => {
    const found = await labelsByName(tx, ofProject(write.project), labels ?? [], true);
    const milestone = (await namedMilestone({ ...write, tx }, milestone_id)) ?? null;
    return create(tx, (work) => work(tx), found, milestone);
  });
}

/** Whether there may be somebody to mail about a new issue. */
async function hasReaders(
  { actor, project, services }: Pick<IssueWrite, "actor" | "project" | "services">,
  databases: Databases,
  { assigned = [], mentioned = [] }: ToldPeople,
): Promise<boolean> {
  if (!sendsMail(services)) return false;
  if ([...assigned, ...mentioned].some((id) => id !== actor.user.id)) return true;
  return mayBeWatched(databases, project.id);
}

/** Inserts an issue after its mail and audit event, since the statement that takes its number must be the last. */
async function insertTogether(
  write: Omit<IssueCreation, "databases">,
  tx: Tx,
  draft: Draft,
  insertion: Insertion,
  announced: boolean,
): Promise<Created> {
  const id = await nextItemId(tx, ISSUE);
  const item = { kind: ISSUE, id } as const;
  if (announced) await notify(write.services, tx, item, insertion.userId, ["created"], insertion.told ?? {});
  if (write.actsForAnother) {
    const entity = { type: "Project", id: draft.project_id } as const;
    await insertAudit(tx, write.auditEntry({ type: "Issue", id, name: write.project.path, entity }));
  }
  return insertIssue(tx, draft, { ...insertion, issueId: id });
}

async function draftOf(
  db: Db,
  { actor, project }: Pick<IssueWrite, "actor" | "project">,
  given: Partial<Static<typeof NewIssue>> & { readonly title: string },
): Promise<Draft> {
  return {
    project_id: project.id,
    author_id: actor.user.id,
    title: given.title,
    description: given.description ?? null,
    ...taskColumns(given.description ?? null),
    issue_type: given.issue_type ?? "issue",
    confidential: given.confidential ?? false,
    discussion_locked: given.discussion_locked ?? null,
    weight: given.weight ?? null,
    start_date: given.start_date ?? null,
    due_date: given.due_date ?? null,
    milestone_id: given.milestone_id ?? null,
    ...{ state: "opened", closed_at: null, closed_by_id: null },
    assignee_ids: await possibleAssignees(db, project.id, "issues", namedAssignees(given) ?? []),
  };
}

export type Draft = Omit<DescribedIssue, "id" | "iid" | "created_at" | "updated_at" | "moved_to_id">;
type Created = Pick<DescribedIssue, "id" | "iid" | "created_at" | "updated_at">;

interface Insertion {
  readonly labelIds: readonly number[];
  /** Who adds the labels. */
  readonly userId: number;
  /** Its id, if one was taken for it. */
  readonly issueId?: number;
  readonly iid?: number;
  readonly created_at?: string;
  /** Who gets to-dos. */
  readonly told?: ToldPeople;
  /** A further part of the statement, which may refer to the row `issue`. */
  readonly also?: RawBuilder<unknown>;
}

/** Leaves room between the positions of two issues for those that are moved there. */
export const POSITION_STEP = 2 ** 20;

/** Inserts an issue with its assignees and labels in one statement, which locks the counter of the project. */
export async function insertIssue(
  db: Db,
  draft: Draft,
  { labelIds, userId, issueId, iid, created_at, told = {}, also = sql`select` }: Insertion,
): Promise<Created> {
  const givenId = idColumn(issueId);
  const { rows } = await sql<Created>`
    with counter as (${takeIid("issue", draft.project_id, iid)}), issue as (
      insert into issues (${givenId.name} project_id, iid, author_id, title, description, issue_type, confidential, discussion_locked,
        weight, start_date, due_date, milestone_id, task_count, completed_task_count, state, closed_at, closed_by_id, created_at, relative_position)
      select ${givenId.value} ${draft.project_id}, iid, ${draft.author_id}, ${draft.title}, ${draft.description}, ${draft.issue_type},
        ${draft.confidential}, ${draft.discussion_locked}, ${draft.weight}, ${draft.start_date}, ${draft.due_date},
        ${draft.milestone_id}, ${draft.task_count}, ${draft.completed_task_count}, ${draft.state}, ${draft.closed_at}, ${draft.closed_by_id}, coalesce(${created_at ?? null}, now()),
        iid * ${sql.lit(POSITION_STEP)}::bigint
      from counter returning id, iid, created_at, updated_at
    ), assigned as (
      insert into issue_assignees (issue_id, user_id) select id, unnest(${draft.assignee_ids}::bigint[]) from issue
    ), linked as (
      insert into label_links (issue_id, label_id) select id, unnest(${labelIds}::bigint[]) from issue
    ), recorded as (
      insert into label_events (issue_id, user_id, label_id, action)
      select id, ${userId}, unnest(${labelIds}::bigint[]), 'add' from issue
    ), happened as (${creationEvent(userId, { project_id: draft.project_id }, "Issue", sql`select id from issue`)}
    ), active as (${projectActivity(draft.project_id)}
    ), told as (${todosOf(ISSUE, sql`select id from issue`, userId, told)}), also as (${also})
    select * from issue`.execute(db);
  return rows[0]!;
}
