import { type GroupSeen, inGroup, inProject, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { EpicByAnyId } from "#domains/planning/epics/params.ts";
import { requireEpicByAnyId } from "#domains/planning/epics/queries.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { requireIssue } from "#domains/planning/issues/queries.ts";
import { ofGroup, ofProject } from "#domains/planning/items/labels.ts";
import { LabelEvent } from "./entity.ts";
import { EpicLabelEventId, IssueLabelEventId } from "./params.ts";
import { type EventSource, eventsOf, requireLabelEvent } from "./queries.ts";
import { labelEventView, labelEventViews } from "./views.ts";

const ofIssue = inProject("viewer", { feature: "issues", signedIn: true });
const ofEpic = inGroup("viewer", { signedIn: true });
const PREMIUM = { plan: "premium", deprecated: "2024-10-17" } as const;
const returns = pageOf(LabelEvent, { id: "v.id" });

export const labelEvents = {
  listOfIssue: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/resource_label_events",
    summary: "List who added or removed which label of an issue when, the oldest first",
    access: ofIssue,
    params: IssueId,
    returns,
    async handle({ db, page, site, params, ...seen }) {
      const source = await issueSource(db, seen, params.issue_iid);
      return labelEventViews(db, await page.rows(eventsOf(db, source)), source, site);
    },
  }),

  getOfIssue: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/resource_label_events/:resource_label_event_id",
    summary: "Get a label event of an issue",
    access: ofIssue,
    params: IssueLabelEventId,
    returns: LabelEvent,
    async handle({ db, site, params, ...seen }) {
      const source = await issueSource(db, seen, params.issue_iid);
      const row = await requireLabelEvent(db, source, params.resource_label_event_id);
      return labelEventView(db, row, source, site);
    },
  }),

  listOfEpic: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/resource_label_events",
    summary: "List who added or removed which label of an epic when, the oldest first",
    ...PREMIUM,
    access: ofEpic,
    params: EpicByAnyId,
    returns,
    async handle({ db, page, site, params, ...seen }) {
      const source = await epicSource(db, seen, params.epic_id);
      return labelEventViews(db, await page.rows(eventsOf(db, source)), source, site);
    },
  }),

  getOfEpic: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_id/resource_label_events/:resource_label_event_id",
    summary: "Get a label event of an epic",
    ...PREMIUM,
    access: ofEpic,
    params: EpicLabelEventId,
    returns: LabelEvent,
    async handle({ db, site, params, ...seen }) {
      const source = await epicSource(db, seen, params.epic_id);
      const row = await requireLabelEvent(db, source, params.resource_label_event_id);
      return labelEventView(db, row, source, site);
    },
  }),
};

interface SeenProject {
  readonly project: ProjectSeen;
  readonly actor: Actor;
}

async function issueSource(db: Db, { project, actor }: SeenProject, iid: number): Promise<EventSource> {
  const { id } = await requireIssue(db, project, actor, iid);
  return { column: "issue_id", id, container: ofProject(project), actor };
}

interface SeenGroup {
  readonly group: GroupSeen;
  readonly actor: Actor;
}

async function epicSource(db: Db, { group, actor }: SeenGroup, epicId: number): Promise<EventSource> {
  const { id } = await requireEpicByAnyId(db, group, actor, epicId);
  return { column: "epic_id", id, container: ofGroup(group), actor };
}
