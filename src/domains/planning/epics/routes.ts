import { inGroup } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { withLabelDetails } from "#domains/planning/labels/views.ts";
import { changeEpic, deleteEpic } from "./actions.ts";
import { DetailedEpic, ListedEpic, SingleEpic } from "./entity.ts";
import { EPIC } from "./kind.ts";
import { listEpics, PAGING } from "./list.ts";
import { createEpic } from "./new-epic.ts";
import { EPICS_API, EpicChanges, EpicFilters, EpicId, EpicView, NewEpic } from "./params.ts";
import { epics as epicRows, requireEpic } from "./queries.ts";
import { epicView, epicViews } from "./views.ts";

const planner = inGroup("planner", { unlessArchived: true });

export const epics = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics",
    summary: "List the epics of a group and of the groups below it",
    ...EPICS_API,
    access: inGroup("viewer"),
    params: EpicFilters,
    returns: pageOf(ListedEpic, { ...PAGING, type: "Epic" }),
    async handle({ db, group, params, page, ...viewer }) {
      const rows = await page.rows(epicRows(db), listEpics(group, viewer.actor, params));
      const views = await epicViews(db, rows, { ...viewer, group });
      return withLabelDetails(db, EPIC, views, viewer, params.with_labels_details);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_iid",
    summary: "Get an epic",
    ...EPICS_API,
    access: inGroup("viewer"),
    params: EpicView,
    returns: DetailedEpic,
    async handle({ db, group, actor, params, site }) {
      const view = await epicView(db, await requireEpic(db, group, actor, params.epic_iid), { actor, site, group });
      const [epic] = await withLabelDetails(db, EPIC, [view], { actor }, params.with_labels_details);
      return epic!;
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics",
    summary: "Create an epic",
    ...EPICS_API,
    access: planner,
    params: NewEpic,
    returns: SingleEpic,
    audit: auditedForOthers("epic_created"),
    handle: ({ params, ...write }) => createEpic(write, params),
  }),

  update: endpoint({
    method: "PUT",
    path: "/groups/:id/epics/:epic_iid",
    summary: "Change an epic",
    ...EPICS_API,
    access: planner,
    params: EpicChanges,
    returns: SingleEpic,
    audit: auditedForOthers("epic_changed"),
    handle: async ({ params, ...write }) => epicView(write.tx, await changeEpic(write, params), write),
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_iid",
    summary: "Delete an epic; its child epics and issues stay",
    ...EPICS_API,
    access: planner,
    params: EpicId,
    audit: "epic_deleted",
    conditional: true,
    async handle({ tx, group, actor, params, audit, unlessModified }) {
      const { id, iid, updated_at } = await deleteEpic(tx, group, actor, params.epic_iid);
      unlessModified(updated_at);
      audit({ type: "Epic", id, name: `&${iid}`, entity: { type: "Group", id: group.id } });
    },
  }),
};
