import { resolveProject } from "#access/paths.ts";
import { forAdministrators, inGroup, inProject, visibleProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { containerWriteContext } from "#domains/foundation/namespaces/write-context.ts";
import { transferProject } from "#domains/organization/projects/lifecycle.ts";
import { GroupsProject } from "#domains/organization/projects/params.ts";
import { viewProject } from "#domains/organization/projects/views.ts";
import { GroupDetail, GroupOfProject, presentGroupOfProject } from "./entity.ts";
import { ProjectGroupFilters } from "./params.ts";
import { groupsOfProject } from "./queries.ts";
import { viewGroup } from "./views.ts";

export const projectGroups = {
  groups: endpoint({
    method: "GET",
    path: "/projects/:id/groups",
    summary: "List the groups that a project is in",
    access: inProject("viewer"),
    params: ProjectGroupFilters,
    returns: pageOf(GroupOfProject, { id: "n.id" }),
    handle: ({ db, actor, project, params, page, site }) =>
      page(groupsOfProject(db, actor, project, params), presentGroupOfProject(site)),
  }),

  transferToGroup: endpoint({
    method: "POST",
    path: "/groups/:id/projects/:project_id",
    summary: "Move a project into a group",
    access: forAdministrators(inGroup("viewer", { signedIn: true })),
    params: GroupsProject,
    returns: GroupDetail,
    audit: "project_transferred",
    async prepare({ actor, params, services: { db } }) {
      const address = await resolveProject(db, params.project_id);
      const project = await visibleProject(db, actor, address.id);
      if (!project) throw missing("Project");
      return { project };
    },
    async handle({ tx, actor, group, project: { id, namespace_id: from }, services, site, audit }) {
      await transferProject(tx, id, group, await containerWriteContext({ actor, services }));
      const { path_with_namespace: name } = await viewProject(tx, id, { actor, site, services });
      audit({ type: "Project", id, name, entity: { type: "Project", id }, details: { from, to: group.id } });
      return viewGroup(tx, group.id, { actor, level: group.level, site });
    },
  }),
};
