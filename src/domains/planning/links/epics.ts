import { sql } from "kysely";
import Type from "typebox";
import { hasRole, inGroup, visibleGroup } from "#access/containers.ts";
import { resolveNamespace } from "#access/paths.ts";
import { needsRole } from "#access/roles.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import type { Epic } from "#domains/planning/epics/entity.ts";
import { EPIC } from "#domains/planning/epics/kind.ts";
import { EpicId, EPICS_API } from "#domains/planning/epics/params.ts";
import { type EpicRow, requireEpic, visibleEpics } from "#domains/planning/epics/queries.ts";
import { epicViews } from "#domains/planning/epics/views.ts";
import { linkEndpoints } from "./endpoints.ts";
import { EpicLink, LinkedEpic, presentEpicLink } from "./entity.ts";
import { epicLinks as links, listEpicLinks } from "./group-list.ts";
import { type LinkKind, linkResource, type LinkWrite } from "./kinds.ts";
import { containerOf, containerParam, EpicLinkFilters } from "./params.ts";
import { storedLinkViews } from "./views.ts";

const ULTIMATE = { ...EPICS_API, plan: "ultimate" } as const;
const reader = inGroup("viewer");

const EPIC_LINKS: LinkKind<EpicRow, Epic> = {
  item: EPIC,
  links: "epic_links",
  visible: (db, actor, ids) =>
    visibleEpics(db, actor)
      .where("e.id", "=", sql<number>`any(${ids}::bigint[])`)
      .execute(),
  isFamily: (one, other) => one.parent_id === other.id || other.parent_id === one.id,
  containerId: ({ group_id }) => group_id,
  views: epicViews,
};

async function requireGroup({ tx, services, actor }: LinkWrite, id: number) {
  // With another connection than that of the transaction, as many requests as there are connections would wait forever.
  const group = await visibleGroup({ ...services.db, write: tx }, actor, id);
  if (!group) throw missing("Group");
  return group;
}

const {
  list,
  create,
  delete: remove,
} = linkEndpoints(
  linkResource({
    kind: EPIC_LINKS,
    path: "/groups/:id/epics/:epic_iid/related_epics",
    linkId: "related_epic_link_id",
    both: "epics",
    needed: "at least the Guest role in both groups",
    availability: ULTIMATE,
    reader,
    writer: inGroup("guest", { unlessArchived: true }),
    params: EpicId,
    target: Type.Object({ target_group_id: containerParam("group"), target_epic_iid: Id }),
    find: (db, { group, actor }, { epic_iid }) => requireEpic(db, group, actor, epic_iid),
    async findTarget({ group, ...write }, { target_group_id, target_epic_iid }) {
      const { id } = await resolveNamespace(write.services.db, String(containerOf(target_group_id, group.id)));
      return requireEpic(write.tx, await requireGroup(write, id), write.actor, target_epic_iid);
    },
    async requireRights(write, _, other) {
      const group = await requireGroup(write, other.group_id);
      if (!hasRole(write.actor, group, "guest")) throw needsRole("guest", "group of the other epic");
      if (group.archived) throw forbidden("The group is archived");
    },
    linked: LinkedEpic,
    linkedViews: epicViews,
    link: EpicLink,
    present: presentEpicLink,
  }),
);

const listOfGroup = endpoint({
  method: "GET",
  path: "/groups/:id/related_epic_links",
  summary: "List the links of the epics of a group and its subgroups; the caller must see both ends",
  ...ULTIMATE,
  access: reader,
  params: EpicLinkFilters,
  returns: pageOf(EpicLink, { id: "l.id" }),
  async handle({ db, group, params, page, ...viewer }) {
    const rows = await page.rows(links(db), listEpicLinks(group, viewer.actor, params));
    return (await storedLinkViews(db, EPIC_LINKS, rows, { ...viewer, group })).map(presentEpicLink);
  },
});

export const epicLinks = { listOfGroup, list, create, delete: remove };
