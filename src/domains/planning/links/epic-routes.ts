import { type GroupSeen, hasRole, inGroup, visibleGroup } from "#access/containers.ts";
import { resolveNamespace } from "#access/paths.ts";
import type { Actor } from "#access/principal.ts";
import { needsRole } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { EPICS_API, EpicId } from "#domains/planning/epics/params.ts";
import { type EpicRow, requireEpic } from "#domains/planning/epics/queries.ts";
import type { Services } from "#services.ts";
import { createLink, removeLink } from "./actions.ts";
import { EpicLink, LinkedEpic, presentEpicLink } from "./entity.ts";
import { epicLinks as links, listEpicLinks } from "./group-list.ts";
import { EPICS } from "./kinds.ts";
import { containerOf, EpicLinkFilters, EpicLinkToDelete, NewEpicLink } from "./params.ts";
import { ALL_LINKS, type LinkRow, linksOf, requireLink } from "./queries.ts";
import { recordLink } from "./records.ts";
import { linkedViews, linkView, storedLinkViews } from "./views.ts";

const ULTIMATE = { ...EPICS_API, plan: "ultimate" } as const;
const reader = inGroup("viewer");
const writer = inGroup("guest", { unlessArchived: true });

export const epicLinks = {
  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/related_epic_links",
    summary: "List the links of the epics of a group and its subgroups; the caller must see both ends",
    ...ULTIMATE,
    access: reader,
    params: EpicLinkFilters,
    returns: pageOf(EpicLink, { id: "l.id" }),
    async handle({ db, group, params, page, ...viewer }) {
      const rows = await page.rows(links(db), listEpicLinks(group, viewer.actor, params));
      return (await storedLinkViews(db, EPICS, rows, { ...viewer, group })).map(presentEpicLink);
    },
  }),

  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_iid/related_epics",
    summary: "List the epics that an epic is linked to, as far as the caller may see them",
    ...ULTIMATE,
    access: reader,
    params: EpicId,
    returns: pageOf(LinkedEpic, ALL_LINKS),
    async handle({ db, group, params, page, ...viewer }) {
      const epic = await requireEpic(db, group, viewer.actor, params.epic_iid);
      const links = await page.rows(linksOf(db, EPICS, epic, viewer.actor));
      const linked = await linkedViews(db, EPICS, epic, links, { ...viewer, group });
      return linked.map(({ link, view }) => ({ ...view, related_epic_link_id: link.id }));
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_iid/related_epics",
    summary: "Link two epics; requires at least the Guest role in both groups",
    ...ULTIMATE,
    access: writer,
    params: NewEpicLink,
    returns: EpicLink,
    audit: "epic_link_created",
    async handle({ group, params, audit, ...context }) {
      const { tx, actor, services } = context;
      const epic = await requireEpic(tx, group, actor, params.epic_iid);
      const { id } = await resolveNamespace(services.db, String(containerOf(params.target_group_id, group.id)));
      const targetGroup = await requireGroup(context, id);
      const other = await requireEpic(tx, targetGroup, actor, params.target_epic_iid);
      requireGuest(actor, targetGroup);
      const { prevent_blocking_cycles } = await services.settings.current();
      const link = await createLink(tx, EPICS, { item: epic, other, type: params.link_type }, !prevent_blocking_cycles);
      audit(targetOf(link, epic));
      const view = await linkView(tx, EPICS, epic, { link, other }, { ...context, group });
      await recordLink(tx, EPICS, view, actor.user.id, "created");
      return presentEpicLink(view);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_iid/related_epics/:related_epic_link_id",
    summary: "Delete a link between epics; requires at least the Guest role in both groups",
    ...ULTIMATE,
    access: writer,
    params: EpicLinkToDelete,
    returns: EpicLink,
    audit: "epic_link_deleted",
    conditional: true,
    async handle({ group, params, audit, unlessModified, ...context }) {
      const { tx, actor } = context;
      const epic = await requireEpic(tx, group, actor, params.epic_iid);
      const linked = await requireLink(tx, EPICS, epic, actor, params.related_epic_link_id);
      requireGuest(actor, await requireGroup(context, linked.other.group_id));
      unlessModified(linked.link.updated_at);
      const view = await linkView(tx, EPICS, epic, linked, { ...context, group });
      await removeLink(tx, EPICS, linked.link);
      await recordLink(tx, EPICS, view, actor.user.id, "deleted");
      audit(targetOf(linked.link, epic));
      return presentEpicLink(view);
    },
  }),
};

interface Write {
  readonly tx: Tx;
  readonly services: Pick<Services, "db">;
  readonly actor: Actor;
}

async function requireGroup({ tx, services, actor }: Write, id: number): Promise<GroupSeen> {
  // With another connection than that of the transaction, as many requests as there are connections would wait forever.
  const group = await visibleGroup({ ...services.db, write: tx }, actor, id);
  if (!group) throw missing("Group");
  return group;
}

/** Refuses a caller who may not link the epics of the other group. */
function requireGuest(actor: Actor, group: GroupSeen) {
  if (!hasRole(actor, group, "guest")) throw needsRole("guest", "group of the other epic");
  if (group.archived) throw forbidden("The group is archived");
}

const targetOf = ({ id, source_id, target_id, link_type }: LinkRow, { iid, group_id }: EpicRow) =>
  ({
    type: "EpicLink",
    id,
    name: `&${iid}`,
    details: { source_id, target_id, link_type },
    entity: { type: "Group", id: group_id },
  }) as const;
