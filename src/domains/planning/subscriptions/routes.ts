import type { Static } from "typebox";
import { type GroupSeen, inGroup, inProject, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { SingleEpic } from "#domains/planning/epics/entity.ts";
import { EpicId, EPICS_API } from "#domains/planning/epics/params.ts";
import { requireEpic } from "#domains/planning/epics/queries.ts";
import { epicView } from "#domains/planning/epics/views.ts";
import { SingleIssue } from "#domains/planning/issues/entity.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { requireIssue } from "#domains/planning/issues/queries.ts";
import { issueView } from "#domains/planning/issues/views.ts";
import { changeSubscription } from "./actions.ts";

const ISSUE = {
  method: "POST",
  access: inProject("viewer", { feature: "issues", signedIn: true }),
  params: IssueId,
  returns: SingleIssue,
  audit: auditedForOthers("subscription_changed"),
  unchanged: true,
} as const;

const EPIC = {
  method: "POST",
  ...EPICS_API,
  access: inGroup("viewer", { signedIn: true }),
  params: EpicId,
  returns: SingleEpic,
  audit: auditedForOthers("subscription_changed"),
  unchanged: true,
} as const;

interface IssueRequest {
  readonly tx: Tx;
  readonly project: ProjectSeen;
  readonly actor: Actor;
  readonly params: Static<typeof IssueId>;
  readonly site: string;
}

async function changeOfIssue({ tx, project, actor, params, site }: IssueRequest, subscribed: boolean) {
  const issue = await requireIssue(tx, project, actor, params.issue_iid);
  await changeSubscription(tx, actor, { column: "issue_id", id: issue.id }, subscribed);
  return issueView(tx, issue, { actor, site, project });
}

interface EpicRequest {
  readonly tx: Tx;
  readonly group: GroupSeen;
  readonly actor: Actor;
  readonly params: Static<typeof EpicId>;
  readonly site: string;
}

async function changeOfEpic({ tx, group, actor, params, site }: EpicRequest, subscribed: boolean) {
  const epic = await requireEpic(tx, group, actor, params.epic_iid);
  await changeSubscription(tx, actor, { column: "epic_id", id: epic.id }, subscribed);
  return epicView(tx, epic, { actor, site, group });
}

export const subscriptions = {
  subscribeToIssue: endpoint({
    ...ISSUE,
    path: "/projects/:id/issues/:issue_iid/subscribe",
    summary: "Get mail about an issue; 304 if the caller does already",
    handle: (request) => changeOfIssue(request, true),
  }),

  unsubscribeFromIssue: endpoint({
    ...ISSUE,
    path: "/projects/:id/issues/:issue_iid/unsubscribe",
    summary: "Get no more mail about an issue; 304 if the caller gets none already",
    handle: (request) => changeOfIssue(request, false),
  }),

  subscribeToEpic: endpoint({
    ...EPIC,
    path: "/groups/:id/epics/:epic_iid/subscribe",
    summary: "Get mail about an epic; 304 if the caller does already",
    handle: (request) => changeOfEpic(request, true),
  }),

  unsubscribeFromEpic: endpoint({
    ...EPIC,
    path: "/groups/:id/epics/:epic_iid/unsubscribe",
    summary: "Get no more mail about an epic; 304 if the caller gets none already",
    handle: (request) => changeOfEpic(request, false),
  }),
};
