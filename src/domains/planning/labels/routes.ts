import { inGroup, inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { ofGroup, ofProject } from "#domains/planning/items/containers.ts";
import { requirePlannerOfGroup } from "#domains/planning/items/rights.ts";
import { promoteLabel } from "./actions.ts";
import { countsEverywhere, countsInProject } from "./counts.ts";
import { labelEndpoints, labelTarget } from "./endpoints.ts";
import { Label, presentLabel } from "./entity.ts";
import { mergeLabelsKind } from "./jobs.ts";
import { listGroupLabels, listProjectLabels, PAGING } from "./list.ts";
import {
  GroupLabelChanges,
  GroupLabelFilters,
  LabelId,
  NamedGroupLabelChanges,
  NamedProjectLabelChanges,
  NewGroupLabel,
  NewProjectLabel,
  ProjectLabelChanges,
  ProjectLabelFilters,
} from "./params.ts";
import { type LabelRow, labels, requireLabel } from "./queries.ts";

const writer = inProject("planner", { unlessArchived: true });
const idsOf = (rows: readonly LabelRow[]) => rows.map(({ id }) => id);

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

  ...labelEndpoints({
    word: "project",
    path: "/projects/:id/labels",
    reader: inProject("viewer"),
    writer,
    container: ({ project }, inherits) => ofProject(project, inherits),
    creation: NewProjectLabel,
    changes: ProjectLabelChanges,
    namedChanges: NamedProjectLabelChanges,
  }),

  promote: endpoint({
    method: "PUT",
    path: "/projects/:id/labels/:label_id/promote",
    summary: "Make a label of a project one of its group; those of the same name in the group's projects join it later",
    access: writer,
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
      audit({ ...labelTarget(label), entity: { type: "Project", id: project.id } });
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

  ...labelEndpoints({
    word: "group",
    path: "/groups/:id/labels",
    reader: inGroup("viewer"),
    writer: inGroup("planner", { unlessArchived: true }),
    container: ({ group }, inherits) => ofGroup(group, inherits),
    creation: NewGroupLabel,
    changes: GroupLabelChanges,
    namedChanges: NamedGroupLabelChanges,
  }),
};
