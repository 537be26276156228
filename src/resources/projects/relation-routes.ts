import { inProject, type ProjectSeen, visibleGroup } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { listMembers } from "#resources/members/list.ts";
import { everySource } from "#resources/members/queries.ts";
import { removeShare } from "#resources/shares/actions.ts";
import { UserSummary } from "#resources/users/entity.ts";
import { presentSummary } from "#resources/users/present.ts";
import { summaryColumns } from "#resources/users/queries.ts";
import { GroupOfProject, Project, ProjectShare, Starrer } from "./entity.ts";
import { GroupFilters, NewShare, PeopleFilters, ProjectId, ShareId } from "./params.ts";
import { presentGroupOfProject, presentProjectShare } from "./present.ts";
import { groupsOfProject, shareProject } from "./shares.ts";
import { star, starrers, unstar } from "./stars.ts";
import { viewProject } from "./views.ts";

export const projectRelations = {
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
      audit({ ...nameOf(project), details: { group_id: group.id, group_access: share.access_level } });
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
    async handle({ tx, actor, project, params, audit }) {
      await removeShare(tx, actor, "project", project, params.group_id);
      audit({ ...nameOf(project), details: { group_id: params.group_id } });
    },
  }),

  groups: endpoint({
    method: "GET",
    path: "/projects/:id/groups",
    summary: "List the groups that a project is in",
    access: inProject("viewer"),
    params: GroupFilters,
    returns: pageOf(GroupOfProject, { id: "n.id" }),
    handle: ({ db, actor, project, params, page, site }) =>
      page(groupsOfProject(db, actor, project, params), presentGroupOfProject(site)),
  }),

  users: endpoint({
    method: "GET",
    path: "/projects/:id/users",
    summary: "List the users of a project",
    access: inProject("viewer"),
    params: PeopleFilters,
    returns: pageOf(UserSummary, { id: "u.id" }),
    async handle({ db, actor, project, params, page, site }) {
      const place = { kind: "project" as const, ...project };
      const members = await listMembers(
        db,
        place,
        await everySource(db, actor, place),
        params.search === undefined ? {} : { query: params.search },
      );
      return page(db.selectFrom("users as u").select(summaryColumns), presentSummary(site), members);
    },
  }),

  star: endpoint({
    method: "POST",
    path: "/projects/:id/star",
    summary: "Star a project",
    access: inProject("viewer", { signedIn: true }),
    params: ProjectId,
    returns: Project,
    audit: "project_starred",
    async handle({ tx, actor, project, site, services, audit }) {
      await star(tx, project.id, actor.user.id);
      audit(nameOf(project));
      return viewProject(tx, project.id, { actor, site, services });
    },
  }),

  unstar: endpoint({
    method: "POST",
    path: "/projects/:id/unstar",
    summary: "Take one's star from a project",
    access: inProject("viewer", { signedIn: true }),
    params: ProjectId,
    returns: Project,
    audit: "project_unstarred",
    async handle({ tx, actor, project, site, services, audit }) {
      await unstar(tx, project.id, actor.user.id);
      audit(nameOf(project));
      return viewProject(tx, project.id, { actor, site, services });
    },
  }),

  starrers: endpoint({
    method: "GET",
    path: "/projects/:id/starrers",
    summary: "List the users who starred a project",
    access: inProject("viewer"),
    params: PeopleFilters,
    returns: pageOf(Starrer, { id: "s.user_id" }),
    handle: ({ db, actor, project, params, page, site }) =>
      page(starrers(db, project.id, actor, params.search), ({ starred_since, ...user }) => ({
        starred_since,
        user: presentSummary(site)(user),
      })),
  }),
};

const nameOf = ({ id, name }: ProjectSeen) => ({
  type: "Project",
  id,
  name,
  entity: { type: "Project" as const, id },
});
