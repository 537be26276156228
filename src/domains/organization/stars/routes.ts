import Type from "typebox";
import { inProject, type ProjectSeen } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Project } from "#domains/organization/projects/entity.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { viewProject } from "#domains/organization/projects/views.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { addStar, removeStar } from "./actions.ts";
import { Starrer } from "./entity.ts";
import { listStarrers, starrers } from "./queries.ts";

export const projectStars = {
  star: endpoint({
    method: "POST",
    path: "/projects/:id/star",
    summary: "Star a project",
    access: inProject("viewer", { signedIn: true }),
    params: ProjectId,
    returns: Project,
    audit: "project_starred",
    unchanged: true,
    async handle({ tx, actor, project, site, services, audit }) {
      await addStar(tx, project.id, actor.user.id);
      audit(targetOf(project));
      return viewProject(tx, project.id, { actor, site, services });
    },
  }),

  unstar: endpoint({
    method: "POST",
    path: "/projects/:id/unstar",
    summary: "Remove one's star from a project",
    access: inProject("viewer", { signedIn: true }),
    params: ProjectId,
    returns: Project,
    audit: "project_unstarred",
    unchanged: true,
    async handle({ tx, actor, project, site, services, audit }) {
      await removeStar(tx, project.id, actor.user.id);
      audit(targetOf(project));
      return viewProject(tx, project.id, { actor, site, services });
    },
  }),

  starrers: endpoint({
    method: "GET",
    path: "/projects/:id/starrers",
    summary: "List the users who starred a project",
    access: inProject("viewer"),
    params: Type.Object({
      ...ProjectId.properties,
      search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or username" })),
    }),
    returns: pageOf(Starrer, { id: "u.id" }),
    handle: ({ db, actor, project, params, page, site }) =>
      page(
        starrers(db, project.id),
        ({ starred_since, ...user }) => ({ starred_since, user: presentSummary(site)(user) }),
        listStarrers(project.id, actor, params.search),
      ),
  }),
};

const targetOf = ({ id, name }: ProjectSeen) =>
  ({ type: "Project", id, name, entity: { type: "Project", id } }) as const;
