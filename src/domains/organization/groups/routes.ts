import { anyone, signedIn } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import { type GroupSeen, inGroup } from "#access/containers.ts";
import { LEVELS } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { isNumericId } from "#http/paths.ts";
import { pageOf } from "#http/paging.ts";
import { avatarNamed } from "#domains/foundation/avatars/images.ts";
import { Accepted, accepted } from "#domains/organization/namespaces/entity.ts";
import { lockTreeShared, lockTree } from "#domains/foundation/namespaces/tree.ts";
import { containerWriteContext } from "#domains/foundation/namespaces/write-context.ts";
import { removeShare, shareGroup } from "#domains/organization/shares/actions.ts";
import { NewShare, ShareId } from "#domains/organization/shares/params.ts";
import { createGroup, setArchived, updateGroup } from "./actions.ts";
import { Group, GroupDetail, presentGroup } from "./entity.ts";
import { moveGroup } from "./jobs.ts";
import { childrenOf, descendantsOf, listGroups, ORDERS } from "./list.ts";
import {
  AvatarFile,
  GroupChanges,
  GroupFilters,
  GroupId,
  GroupView,
  NewGroup,
  Removal,
  SubgroupFilters,
  Transfer,
} from "./params.ts";
import { changedAt, groupRemoval, requireMarkedGroup, markForDeletion, restoreGroup } from "./group-deletion.ts";
import { groups as groupRows } from "./queries.ts";
import { lockParent, namedGroup } from "./rights.ts";
import { transferGroup } from "./transfer.ts";
import { viewGroup } from "./views.ts";

const Groups = pageOf(Group, {
  id: "n.id",
  orders: ORDERS,
  keyset: ["name", "path", "id"],
  sort: "asc",
  type: "Group",
});

/** The largest subtree that is moved within a request; a job moves larger ones. */
const MAX_MOVED_GROUPS = 1000;

export const groups = {
  list: endpoint({
    method: "GET",
    path: "/groups",
    summary: "List groups",
    access: anyone(),
    params: GroupFilters,
    returns: Groups,
    handle: ({ db, actor, params, page, site }) => page(groupRows(db), presentGroup(site), listGroups(actor, params)),
  }),

  subgroups: endpoint({
    method: "GET",
    path: "/groups/:id/subgroups",
    summary: "List the direct subgroups of a group",
    access: inGroup("viewer"),
    params: SubgroupFilters,
    returns: Groups,
    handle: ({ db, actor, group, params, page, site }) =>
      page(groupRows(db), presentGroup(site), listGroups(actor, params, childrenOf(group))),
  }),

  descendants: endpoint({
    method: "GET",
    path: "/groups/:id/descendant_groups",
    summary: "List all groups below a group",
    access: inGroup("viewer"),
    params: SubgroupFilters,
    returns: Groups,
    handle: ({ db, actor, group, params, page, site }) =>
      page(groupRows(db), presentGroup(site), listGroups(actor, params, descendantsOf(group))),
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id",
    formatSuffixAfter: isNumericId,
    summary: "Get a group",
    access: inGroup("viewer"),
    params: GroupView,
    returns: GroupDetail,
    handle: ({ db, actor, group, params: { with_projects = true }, site, services }) =>
      viewGroup(db, group.id, { actor, level: group.level, site }, with_projects ? services : undefined),
  }),

  create: endpoint({
    method: "POST",
    path: "/groups",
    summary: "Create a group",
    access: signedIn(),
    params: NewGroup,
    returns: GroupDetail,
    audit: "group_created",
    camelCase: true,
    prepare: async ({ actor, params, services }) => ({ parent: await namedGroup(services, actor, params.parent_id) }),
    async handle({ tx, actor, parent, params, services, site, audit }) {
      if (parent) await lockTreeShared(tx);
      const lockedParent = await lockParent(tx, actor, parent);
      const id = await createGroup(tx, params, lockedParent, await containerWriteContext({ services, actor }));
      const view = await viewGroup(tx, id, { actor, level: LEVELS.owner, site });
      audit(targetOf(view));
      return view;
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/groups/:id",
    formatSuffixAfter: isNumericId,
    summary: "Change a group",
    access: inGroup("owner"),
    params: GroupChanges,
    returns: GroupDetail,
    audit: "group_updated",
    camelCase: true,
    async handle({ tx, actor, group, params, services, site, audit }) {
      const changed = await updateGroup(tx, group, params, await containerWriteContext({ services, actor }));
      audit({ ...targetOf(group), details: { changed } });
      return viewed(tx, actor, group, site);
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/groups/:id",
    formatSuffixAfter: isNumericId,
    summary: "Mark a group for deletion, or remove one that is marked",
    access: inGroup("owner"),
    params: Removal,
    returns: Accepted,
    status: 202,
    audit: "group_deleted",
    conditional: true,
    async handle({ tx, group, params, services, audit, unlessModified }) {
      const { deletion_adjourned_period: days } = await services.settings.current();
      unlessModified(await changedAt(tx, group.id));
      const marked = params.permanently_remove
        ? await requireMarkedGroup(tx, group.id, params.full_path)
        : await markForDeletion(tx, group.id);
      const atOnce = params.permanently_remove === true || days === 0;
      if (atOnce) await services.jobs.add(tx, groupRemoval, marked);
      audit({ ...targetOf(group), details: { at_once: atOnce } });
      return accepted;
    },
  }),

  restore: endpoint({
    method: "POST",
    path: "/groups/:id/restore",
    summary: "Restore a group that is marked for deletion",
    access: inGroup("owner"),
    params: GroupId,
    returns: GroupDetail,
    audit: "group_restored",
    async handle({ tx, actor, group, site, audit }) {
      await restoreGroup(tx, group.id);
      audit(targetOf(group));
      return viewed(tx, actor, group, site);
    },
  }),

  archive: endpoint({
    method: "POST",
    path: "/groups/:id/archive",
    summary: "Archive a group",
    access: inGroup("owner"),
    params: GroupId,
    returns: GroupDetail,
    audit: "group_archived",
    async handle({ tx, actor, group, site, audit }) {
      await setArchived(tx, group.id, true);
      audit(targetOf(group));
      return viewed(tx, actor, group, site);
    },
  }),

  unarchive: endpoint({
    method: "POST",
    path: "/groups/:id/unarchive",
    summary: "Unarchive a group",
    access: inGroup("owner"),
    params: GroupId,
    returns: GroupDetail,
    audit: "group_unarchived",
    async handle({ tx, actor, group, site, audit }) {
      await setArchived(tx, group.id, false);
      audit(targetOf(group));
      return viewed(tx, actor, group, site);
    },
  }),

  transfer: endpoint({
    method: "POST",
    path: "/groups/:id/transfer",
    summary: "Move a group into another or to the top level; for a large one the status is 202, and a job moves it",
    access: inGroup("owner"),
    params: Transfer,
    returns: GroupDetail,
    audit: "group_transferred",
    prepare: async ({ actor, params, services }) => ({ target: await namedGroup(services, actor, params.group_id) }),
    async handle({ tx, actor, group, target, services, site, audit, setStatus }) {
      const move = { id: group.id, parent_id: target?.id ?? null, by_id: actor.user.id };
      await lockTree(tx);
      await lockParent(tx, actor, target);
      if (!(await transferGroup(tx, move, MAX_MOVED_GROUPS))) {
        await services.jobs.add(tx, moveGroup, move);
        setStatus(202);
      }
      audit({ ...targetOf(group), details: { from: group.parent_id, to: move.parent_id } });
      return viewed(tx, actor, group, site);
    },
  }),

  share: endpoint({
    method: "POST",
    path: "/groups/:id/share",
    summary: "Share a group with another group",
    access: inGroup("owner"),
    params: NewShare,
    returns: GroupDetail,
    audit: "group_shared",
    prepare: async ({ actor, params, services }) => ({ other: await namedGroup(services, actor, params.group_id) }),
    async handle({ tx, actor, group, other, params, site, audit }) {
      await shareGroup(tx, group, other, params);
      audit({ ...targetOf(group), details: { with_group_id: params.group_id, access_level: params.group_access } });
      return viewed(tx, actor, group, site);
    },
  }),

  unshare: endpoint({
    method: "DELETE",
    path: "/groups/:id/share/:group_id",
    summary: "Stop sharing a group with another group",
    access: inGroup("owner"),
    params: ShareId,
    audit: "group_unshared",
    conditional: true,
    async handle({ tx, actor, group, params, audit, unlessModified }) {
      unlessModified(await removeShare(tx, actor, "group", group, params.group_id));
      audit({ ...targetOf(group), details: { with_group_id: params.group_id } });
    },
  }),

  avatar: endpoint({
    method: "GET",
    mount: "root",
    path: "/uploads/-/system/group/avatar/:id/:file",
    summary: "Get the avatar of a group",
    access: inGroup("viewer"),
    params: AvatarFile,
    returns: plain("image/*"),
    async handle({ db, group, params, services, setHeader }) {
      const kept = await db
        .selectFrom("namespaces")
        .select(["avatar_file", "avatar_blob"])
        .where("id", "=", group.id)
        .executeTakeFirst();
      const { bytes, type } = await avatarNamed(params.file, kept, services.blobs);
      setHeader("cache-control", "private, max-age=300");
      setHeader("content-type", type);
      return bytes;
    },
  }),
};

const targetOf = ({ id, name }: { readonly id: number; readonly name: string }) =>
  ({ type: "Group", id, name, entity: { type: "Group", id } }) as const;

const viewed = (tx: Tx, actor: Actor, { id, level }: GroupSeen, site: string) =>
  viewGroup(tx, id, { actor, level, site });
