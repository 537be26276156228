import { inGroup } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { createEpic } from "./actions.ts";
import { SingleEpic } from "./entity.ts";
import { EpicId, NewEpic } from "./params.ts";
import { requireEpic } from "./queries.ts";
import { epicView } from "./views.ts";

const PREMIUM = { plan: "premium" } as const;

export const epics = {
  get: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_iid",
    summary: "Get an epic",
    ...PREMIUM,
    access: inGroup("viewer"),
    params: EpicId,
    returns: SingleEpic,
    handle: async ({ db, group, actor, params, site }) =>
      epicView(db, await requireEpic(db, group, actor, params.epic_iid), { actor, site, group }),
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics",
    summary: "Create an epic",
    ...PREMIUM,
    access: inGroup("planner", { unlessArchived: true }),
    params: NewEpic,
    returns: SingleEpic,
    audit: null,
    handle: ({ params, ...write }) => createEpic(write, params),
  }),
};
