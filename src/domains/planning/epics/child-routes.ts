import Type from "typebox";
import { inGroup } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { addChild, CHILDREN_PAGING, childrenOf, firstChildren, moveChild, removeChild } from "./children.ts";
import { Epic, SingleEpic } from "./entity.ts";
import { createChildEpic } from "./new-epic.ts";
import { EPICS_API, ChildEpicId, ChildEpicPosition, EpicId, NewChildEpic } from "./params.ts";
import { type EpicRow, requireEpic } from "./queries.ts";
import { epicView, epicViews } from "./views.ts";

const planner = inGroup("planner", { unlessArchived: true });

export const childEpics = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_iid/epics",
    alias: "/groups/:id/epics/:epic_iid/links",
    summary: "List the child epics of an epic",
    ...EPICS_API,
    access: inGroup("viewer"),
    params: EpicId,
    returns: pageOf(Epic, CHILDREN_PAGING),
    async handle({ db, params, page, ...viewer }) {
      const epic = await requireEpic(db, viewer.group, viewer.actor, params.epic_iid);
      return epicViews(db, await page.rows(childrenOf(db, epic.id, viewer.actor)), viewer);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_iid/epics",
    alias: "/groups/:id/epics/:epic_iid/links",
    summary: "Create an epic below another one",
    ...EPICS_API,
    access: planner,
    params: NewChildEpic,
    returns: SingleEpic,
    audit: auditedForOthers("epic_created"),
    handle: ({ params, ...write }) => createChildEpic(write, params.epic_iid, params),
  }),

  add: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_iid/epics/:child_epic_id",
    alias: "/groups/:id/epics/:epic_iid/links/:child_epic_id",
    summary: "Place an epic below another one",
    ...EPICS_API,
    access: planner,
    params: ChildEpicId,
    returns: SingleEpic,
    audit: "child_epic_added",
    async handle({ params, audit, ...write }) {
      const child = await addChild(write, params.epic_iid, params.child_epic_id);
      audit(targetOf(child, write.group.id, params.epic_iid));
      return epicView(write.tx, child, write);
    },
  }),

  move: endpoint({
    method: "PUT",
    path: "/groups/:id/epics/:epic_iid/epics/:child_epic_id",
    alias: "/groups/:id/epics/:epic_iid/links/:child_epic_id",
    summary: "Change the order of child epics; the first 100 are returned",
    ...EPICS_API,
    access: planner,
    params: ChildEpicPosition,
    returns: Type.Array(Epic),
    audit: "child_epics_reordered",
    async handle({ params, audit, ...write }) {
      const epic = await moveChild(write, params.epic_iid, params.child_epic_id, params);
      audit(targetOf(epic, write.group.id, params.epic_iid));
      return epicViews(write.tx, await firstChildren(write.tx, epic.id, write.actor), write);
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_iid/epics/:child_epic_id",
    alias: "/groups/:id/epics/:epic_iid/links/:child_epic_id",
    summary: "Remove an epic from below another one; the epic itself stays",
    ...EPICS_API,
    access: planner,
    params: ChildEpicId,
    returns: SingleEpic,
    audit: "child_epic_removed",
    async handle({ params, audit, ...write }) {
      const child = await removeChild(write, params.epic_iid, params.child_epic_id);
      audit(targetOf(child, write.group.id, params.epic_iid));
      return epicView(write.tx, child, write);
    },
  }),
};

const targetOf = ({ id, iid }: EpicRow, groupId: number, epic_iid: number) =>
  ({ type: "Epic", id, name: `&${iid}`, details: { epic_iid }, entity: { type: "Group", id: groupId } }) as const;
