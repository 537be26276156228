import { inGroup, inProject } from "#access/containers.ts";
import { type AuditTarget, type Conditional, endpoint, type WriteContext } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { isNumericId } from "#http/paths.ts";
import { type LabelContainer, ofGroup, ofProject } from "#domains/planning/items/labels.ts";
import { requirePlannerOfGroup } from "#domains/planning/items/rights.ts";
import { changeLabel, createLabel, promoteLabel, removeLabel } from "./actions.ts";
import { countsEverywhere, countsInProject } from "./counts.ts";
import { Label, presentLabel } from "./entity.ts";
import { mergeLabelsKind, removeLabelLinks } from "./jobs.ts";
import { listGroupLabels, listProjectLabels, PAGING } from "./list.ts";
import {
  GroupLabelChanges,
  GroupLabelFilters,
  type LabelChanges,
  LabelId,
  type LabelName,
  NamedGroupLabelChanges,
  NamedLabel,
  NamedProjectLabelChanges,
  NewGroupLabel,
  type NewLabel,
  NewProjectLabel,
  ProjectLabelChanges,
  ProjectLabelFilters,
  ReadLabel,
} from "./params.ts";
import { type LabelRow, labels, requireLabel } from "./queries.ts";

const writesInProject = inProject("planner", { unlessArchived: true });
const writesInGroup = inGroup("planner", { unlessArchived: true });

export const projectLabels = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/labels",
    summary: "List the labels of a project, with those of the groups above",
    access: inProject("viewer"),
    params: ProjectLabelFilters,
    returns: pageOf(Label, PAGING),
    async handle({ db, actor, project, params, page }) {
      const rows = await page.rows(labels(db, project.id), listProjectLabels(project, params));
      if (!params.with_counts) return rows.map((row) => presentLabel(row));
      const counts = await countsInProject(db, project, actor, idsOf(rows));
      return rows.map((row) => presentLabel(row, counts(row.id)));
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/labels/:label_id",
    formatSuffixAfter: isNumericId,
    summary: "Get a label of a project or of the groups above",
    access: inProject("viewer"),
    params: ReadLabel,
    returns: Label,
    async handle({ db, project, params }) {
      return presentLabel(await requireLabel(db, ofProject(project, params.include_ancestor_groups), params));
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/labels",
    summary: "Create a label of a project",
    access: writesInProject,
    params: NewProjectLabel,
    returns: Label,
    audit: "label_created",
    handle: ({ project, params, ...context }) => create(context, ofProject(project), params),
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id/labels/:label_id",
    formatSuffixAfter: isNumericId,
    summary: "Change a label of a project",
    access: writesInProject,
    params: ProjectLabelChanges,
    returns: Label,
    audit: "label_updated",
    handle: ({ project, params, ...context }) => change(context, ofProject(project), params),
  }),

  updateNamed: endpoint({
    method: "PUT",
    path: "/projects/:id/labels",
    summary: "Change a label of a project that a parameter names",
    access: writesInProject,
    params: NamedProjectLabelChanges,
    returns: Label,
    audit: "label_updated",
    handle: ({ project, params, ...context }) => change(context, ofProject(project), params),
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/labels/:label_id",
    formatSuffixAfter: isNumericId,
    summary: "Delete a label of a project",
    access: writesInProject,
    params: LabelId,
    audit: "label_deleted",
    conditional: true,
    handle: ({ project, params, ...context }) => remove(context, ofProject(project), params),
  }),

  deleteNamed: endpoint({
    method: "DELETE",
    path: "/projects/:id/labels",
    summary: "Delete a label of a project that a parameter names",
    access: writesInProject,
    params: NamedLabel,
    audit: "label_deleted",
    conditional: true,
    handle: ({ project, params, ...context }) => remove(context, ofProject(project), params),
  }),

  promote: endpoint({
    method: "PUT",
    path: "/projects/:id/labels/:label_id/promote",
    summary: "Make a label of a project one of its group; those of the same name in the group's projects join it later",
    access: writesInProject,
    params: LabelId,
    returns: Label,
    audit: "label_promoted",
    async prepare({ services, actor, project, params }) {
      await requireLabel(services.db.write, ofProject(project, false), params);
      await requirePlannerOfGroup(services.db, actor, project);
      return {};
    },
    async handle({ tx, services, project, params, audit }) {
      const label = await promoteLabel(tx, project, params);
      await services.jobs.add(tx, mergeLabelsKind, { label_id: label.id, name: label.name });
      audit({ ...targetOf(label), entity: { type: "Project", id: project.id } });
      return presentLabel(label);
    },
  }),
};

export const groupLabels = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/labels",
    summary: "List the labels of a group, with those of the groups above",
    access: inGroup("viewer"),
    params: GroupLabelFilters,
    returns: pageOf(Label, PAGING),
    async handle({ db, actor, group, params, page }) {
      const rows = await page.rows(labels(db, null), listGroupLabels(group, actor, params));
      if (!params.with_counts) return rows.map((row) => presentLabel(row));
      const counts = await countsEverywhere(db, actor, idsOf(rows));
      return rows.map((row) => presentLabel(row, counts(row.id)));
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/labels/:label_id",
    formatSuffixAfter: isNumericId,
    summary: "Get a label of a group or of the groups above",
    access: inGroup("viewer"),
    params: ReadLabel,
    returns: Label,
    async handle({ db, group, params }) {
      return presentLabel(await requireLabel(db, ofGroup(group, params.include_ancestor_groups), params));
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/labels",
    summary: "Create a label of a group",
    access: writesInGroup,
    params: NewGroupLabel,
    returns: Label,
    audit: "label_created",
    handle: ({ group, params, ...context }) => create(context, ofGroup(group), params),
  }),

  update: endpoint({
    method: "PUT",
    path: "/groups/:id/labels/:label_id",
    formatSuffixAfter: isNumericId,
    summary: "Change a label of a group",
    access: writesInGroup,
    params: GroupLabelChanges,
    returns: Label,
    audit: "label_updated",
    handle: ({ group, params, ...context }) => change(context, ofGroup(group), params),
  }),

  updateNamed: endpoint({
    method: "PUT",
    path: "/groups/:id/labels",
    summary: "Change a label of a group that a parameter names",
    access: writesInGroup,
    params: NamedGroupLabelChanges,
    returns: Label,
    audit: "label_updated",
    handle: ({ group, params, ...context }) => change(context, ofGroup(group), params),
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/labels/:label_id",
    formatSuffixAfter: isNumericId,
    summary: "Delete a label of a group",
    access: writesInGroup,
    params: LabelId,
    audit: "label_deleted",
    conditional: true,
    handle: ({ group, params, ...context }) => remove(context, ofGroup(group), params),
  }),

  deleteNamed: endpoint({
    method: "DELETE",
    path: "/groups/:id/labels",
    summary: "Delete a label of a group that a parameter names",
    access: writesInGroup,
    params: NamedLabel,
    audit: "label_deleted",
    conditional: true,
    handle: ({ group, params, ...context }) => remove(context, ofGroup(group), params),
  }),
};

const idsOf = (rows: readonly LabelRow[]) => rows.map(({ id }) => id);

async function create({ tx, audit }: WriteContext, container: LabelContainer, given: NewLabel) {
  const label = await createLabel(tx, container, given);
  audit(targetOf(label));
  return presentLabel(label);
}

async function change({ tx, audit }: WriteContext, container: LabelContainer, given: LabelName & LabelChanges) {
  const label = await changeLabel(tx, container, given, given);
  audit(targetOf(label));
  return presentLabel(label);
}

async function remove(
  { tx, audit, services, unlessModified }: WriteContext & Conditional,
  container: LabelContainer,
  named: LabelName,
) {
  const label = await removeLabel(tx, container, named);
  unlessModified(label.updated_at);
  await services.jobs.add(tx, removeLabelLinks, { label_id: label.id });
  audit(targetOf(label));
}

const targetOf = ({ id, name, color, archived, priority, project_id, group_id }: LabelRow): AuditTarget => ({
  type: "Label",
  id,
  name,
  details: { color, archived, priority },
  entity: project_id === null ? { type: "Group", id: group_id ?? 0 } : { type: "Project", id: project_id },
});
