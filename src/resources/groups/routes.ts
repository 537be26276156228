import { anyone, signedIn } from "#access/access.ts";
import type { Actor } from "#access/actor.ts";
import { type GroupSeen, inGroup } from "#access/containers.ts";
import { LEVELS } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { avatarNamed } from "#resources/avatars/images.ts";
import { Accepted, accepted } from "#resources/namespaces/entity.ts";
import { holdTree, holdTreeAlone } from "#resources/namespaces/tree.ts";
import { writing } from "#resources/namespaces/writing.ts";
import { removeShare } from "#resources/shares/actions.ts";
import { createGroup, setArchived, updateGroup } from "./actions.ts";
import { Group, GroupDetail, presentGroup } from "./entity.ts";
import { moveGroup, removeGroup } from "./jobs.ts";
import { childrenOf, descendantsOf, listGroups } from "./list.ts";
import {
  AvatarFile,
  GroupChanges,
  GroupFilters,
  GroupId,
  GroupView,
  NewGroup,
  NewShare,
  Removal,
  ShareId,
  SubgroupFilters,
  Transfer,
} from "./params.ts";
import { markedAlready, markForDeletion, restoreGroup } from "./removal.ts";
import { holdParent, namedGroup } from "./rights.ts";
import { shareGroup } from "./shares.ts";
import { transferGroup } from "./transfer.ts";
import { viewGroup } from "./views.ts";

const Groups = pageOf(Group, {
  id: "n.id",
  orders: { name: "n.name", path: "n.path", id: "n.id", similarity: "n.similarity" },
  keyset: ["name", "path", "id"],
  sort: "asc",
  offsetLimit: { rows: 50_000, type: "Group" },
});

/** How many groups are moved while a caller waits. */
const MOST_MOVED = 1000;

export const groups = {
  list: endpoint({
    method: "GET",
    path: "/groups",
    summary: "List groups",
    access: anyone(),
    params: GroupFilters,
    returns: Groups,
    async handle({ db, actor, params, page, site }) {
      const { query, pages } = await listGroups(db, actor, params);
      return page(query, presentGroup(site), pages);
    },
  }),

  subgroups: endpoint({
    method: "GET",
    path: "/groups/:id/subgroups",
    summary: "List the groups right below a group",
    access: inGroup("viewer"),
    params: SubgroupFilters,
    returns: Groups,
    async handle({ db, actor, group, params, page, site }) {
      const { query, pages } = await listGroups(db, actor, params, childrenOf(group));
      return page(query, presentGroup(site), pages);
    },
  }),

  descendants: endpoint({
    method: "GET",
    path: "/groups/:id/descendant_groups",
    summary: "List all groups below a group",
    access: inGroup("viewer"),
    params: SubgroupFilters,
    returns: Groups,
    async handle({ db, actor, group, params, page, site }) {
      const { query, pages } = await listGroups(db, actor, params, descendantsOf(group));
      return page(query, presentGroup(site), pages);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/groups/:id",
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
      if (parent) await holdTree(tx);
      const place = await holdParent(tx, actor, parent);
      const id = await createGroup(tx, params, place, await writing({ services, actor }));
      const view = await viewGroup(tx, id, { actor, level: LEVELS.owner, site });
      audit(targetOf(view));
      return view;
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/groups/:id",
    summary: "Change a group",
    access: inGroup("owner"),
    params: GroupChanges,
    returns: GroupDetail,
    audit: "group_updated",
    camelCase: true,
    async handle({ tx, actor, group, params, services, site, audit }) {
      const changed = await updateGroup(tx, group, params, await writing({ services, actor }));
      audit({ ...targetOf(group), details: { changed } });
      return viewed(tx, actor, group, site);
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/groups/:id",
    summary: "Mark a group for deletion, or remove one that is marked",
    access: inGroup("owner"),
    params: Removal,
    returns: Accepted,
    status: 202,
    audit: "group_deleted",
    async handle({ tx, group, params, services, audit }) {
      const { deletion_adjourned_period: days } = await services.settings.current();
      const marked = params.permanently_remove
        ? await markedAlready(tx, group.id, params.full_path)
        : await markForDeletion(tx, group.id);
      const atOnce = params.permanently_remove === true || days === 0;
      if (atOnce) await services.jobs.add(tx, removeGroup, marked);
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
    summary: "Put a group away, so that it is only read",
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
    summary: "Take a group back that was put away",
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
    summary: "Move a group into another or to the top; a large one is moved by a job, which is 202",
    access: inGroup("owner"),
    params: Transfer,
    returns: GroupDetail,
    audit: "group_transferred",
    prepare: async ({ actor, params, services }) => ({ target: await namedGroup(services, actor, params.group_id) }),
    async handle({ tx, actor, group, target, services, site, audit, setStatus }) {
      const move = { id: group.id, parent_id: target?.id ?? null, by_id: actor.user.id };
      await holdTreeAlone(tx);
      await holdParent(tx, actor, target);
      if (!(await transferGroup(tx, move, MOST_MOVED))) {
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
    async handle({ tx, actor, group, params, audit }) {
      await removeShare(tx, actor, "group", group, params.group_id);
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
