import { inProject, type ProjectSeen, visibleGroup } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { missing } from "#lib/refusal.ts";
import { removeShare, shareProject } from "./actions.ts";
import { presentProjectShare, ProjectShare } from "./entity.ts";
import { NewShare, ShareId } from "./params.ts";

export const projectShares = {
  share: endpoint({
    method: "POST",
    path: "/projects/:id/share",
    summary: "Share a project with a group",
    access: inProject("maintainer"),
    params: NewShare,
    returns: ProjectShare,
    audit: "project_shared",
    async prepare({ actor, params, services }) {
      const group = await visibleGroup(services.db, actor, params.group_id);
      if (!group) throw missing("Group");
      return { group };
    },
    async handle({ tx, actor, project, group, params, audit }) {
      const share = await shareProject(tx, actor, project, group, params);
      audit({ ...targetOf(project), details: { group_id: group.id, group_access: share.access_level } });
      return presentProjectShare(project.id, share);
    },
  }),

  unshare: endpoint({
    method: "DELETE",
    path: "/projects/:id/share/:group_id",
    summary: "Stop sharing a project with a group",
    access: inProject("maintainer"),
    params: ShareId,
    audit: "project_unshared",
    conditional: true,
    async handle({ tx, actor, project, params, audit, unlessModified }) {
      unlessModified(await removeShare(tx, actor, "project", project, params.group_id));
      audit({ ...targetOf(project), details: { group_id: params.group_id } });
    },
  }),
};

const targetOf = ({ id, name }: ProjectSeen) =>
  ({ type: "Project", id, name, entity: { type: "Project", id } }) as const;
