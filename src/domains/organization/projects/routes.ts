import Type, { type Static } from "typebox";
import { administrator, anyone, signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { inGroup, inProject } from "#access/containers.ts";
import { endpoint, plain, type Writes } from "#http/endpoint.ts";
import { isNumericId } from "#http/paths.ts";
import { badRequest } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { avatarNamed } from "#domains/foundation/avatars/images.ts";
import { Accepted, accepted } from "#domains/organization/namespaces/entity.ts";
import { containerWriteContext } from "#domains/foundation/namespaces/write-context.ts";
import { repositoryCreation } from "#domains/storage/repositories/maintenance.ts";
import { storageNames } from "#domains/storage/storages/weights.ts";
import { createProject, lockedProject, updateProject } from "./actions.ts";
import { addRepository, refuseMissingBranch } from "./repository.ts";
import { Project, ProjectSummary } from "./entity.ts";
import { markedAt, markForDeletion, restoreProject, setArchived, transferProject } from "./lifecycle.ts";
import { inNamespace, listEverywhere, ofGroup, starredBy } from "./list.ts";
import { listedUser, pageOfProjects, pageOfSources, ProjectPage } from "./pages.ts";
import {
  AvatarFile,
  GroupsProjectFilters,
  NewProject,
  NewProjectOfUser,
  ProjectChanges,
  ProjectFilters,
  ProjectId,
  Removal,
  Transfer,
  UsersProjectFilters,
} from "./params.ts";
import { namedNamespace, personalNamespace, type Target } from "./target.ts";
import { projectRemoval } from "./project-deletion.ts";
import { viewProject } from "./views.ts";

export const projects = {
  list: endpoint({
    method: "GET",
    path: "/projects",
    summary: "List projects",
    access: anyone(),
    params: ProjectFilters,
    returns: ProjectPage,
    handle: (request) => pageOfProjects(request, listEverywhere(request.actor, request.params)),
  }),

  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/projects",
    summary: "List the projects of a group",
    access: inGroup("viewer"),
    params: GroupsProjectFilters,
    returns: ProjectPage,
    handle: ({ group, ...request }) => pageOfSources(request, ofGroup(group, request.actor, request.params)),
  }),

  listOfUser: endpoint({
    method: "GET",
    path: "/users/:user_id/projects",
    summary: "List the personal projects of a user",
    access: anyone(),
    params: UsersProjectFilters,
    returns: ProjectPage,
    async handle(request) {
      const { namespace_id } = await listedUser(request);
      return pageOfSources(request, inNamespace(namespace_id, request.actor));
    },
  }),

  listStarred: endpoint({
    method: "GET",
    path: "/users/:user_id/starred_projects",
    summary: "List the projects that a user starred",
    access: anyone(),
    params: UsersProjectFilters,
    returns: ProjectPage,
    async handle(request) {
      const { actor } = request;
      const { id, private_profile } = await listedUser(request);
      const hidden = private_profile && id !== actor?.user.id && !isAdministrator(actor);
      return pageOfSources(request, hidden ? [] : starredBy(id, actor));
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id",
    formatSuffixAfter: isNumericId,
    summary: "Get a project",
    access: inProject("viewer"),
    params: ProjectId,
    returns: Type.Union([Project, ProjectSummary]),
    handle: ({ db, actor, project, site, services }) => viewProject(db, project.id, { actor, site, services }),
  }),

  create: endpoint({
    method: "POST",
    path: "/projects",
    summary: "Create a project",
    access: signedIn(),
    params: NewProject,
    returns: Project,
    audit: "project_created",
    camelCase: true,
    prepare: async ({ actor, params, services: { db } }) => ({
      target:
        params.namespace_id === undefined
          ? await personalNamespace(db, actor.user.id)
          : await namedNamespace(db, actor, params.namespace_id),
    }),
    handle: ({ params, target, ...write }) => createIn(write, target, params, write.actor.user.id),
  }),

  createForUser: endpoint({
    method: "POST",
    path: "/projects/user/:user_id",
    summary: "Create a project for a user",
    access: administrator(),
    params: NewProjectOfUser,
    returns: Project,
    audit: "project_created",
    camelCase: true,
    async prepare({ actor, params, services: { db } }) {
      const own = await personalNamespace(db, params.user_id);
      return { target: params.namespace_id === undefined ? own : await namedNamespace(db, actor, params.namespace_id) };
    },
    handle: ({ params, target, ...write }) => createIn(write, target, params, params.user_id),
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id",
    formatSuffixAfter: isNumericId,
    summary: "Change a project",
    access: inProject("maintainer"),
    params: ProjectChanges,
    returns: Project,
    audit: "project_updated",
    camelCase: true,
    async prepare({ project, params, services, consumer }) {
      await refuseMissingBranch(services, project, params.default_branch, consumer);
      return {};
    },
    async handle({ project, params, ...write }) {
      const { tx, services } = write;
      const changed = await updateProject(tx, project, params, await containerWriteContext(write));
      if (changed.includes("default_branch")) {
        await services.jobs.add(tx, repositoryCreation, { repository_id: project.repository_id });
      }
      return auditAndView(write, project.id, { changed });
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id",
    formatSuffixAfter: isNumericId,
    summary: "Delete a project",
    access: inProject("owner"),
    params: Removal,
    returns: Accepted,
    status: 202,
    audit: "project_deleted",
    conditional: true,
    async handle({ project: { id }, params, unlessModified, ...write }) {
      const { tx, services } = write;
      unlessModified((await lockedProject(tx, id)).updated_at);
      const { permanently_remove: now = false, full_path } = params;
      const { path_with_namespace } = await auditAndView(write, id, { permanently: now });
      const { deletion_adjourned_period: days } = await services.settings.current();
      const marked_at = now ? await markedAt(tx, id) : await markForDeletion(tx, id);
      if (now && full_path !== path_with_namespace) {
        throw badRequest("`full_path` is incorrect. You must enter the complete path for the project.");
      }
      if (now || days === 0) await services.jobs.add(tx, projectRemoval, { id, marked_at });
      return accepted;
    },
  }),

  restore: endpoint({
    method: "POST",
    path: "/projects/:id/restore",
    summary: "Restore a project that is marked for deletion",
    access: inProject("owner"),
    params: ProjectId,
    returns: Project,
    audit: "project_restored",
    async handle({ project, ...write }) {
      await restoreProject(write.tx, project.id);
      return auditAndView(write, project.id);
    },
  }),

  archive: endpoint({
    method: "POST",
    path: "/projects/:id/archive",
    summary: "Archive a project",
    access: inProject("owner"),
    params: ProjectId,
    returns: Project,
    audit: "project_archived",
    async handle({ project, ...write }) {
      await setArchived(write.tx, project.id, true);
      return auditAndView(write, project.id);
    },
  }),

  unarchive: endpoint({
    method: "POST",
    path: "/projects/:id/unarchive",
    summary: "Unarchive a project",
    access: inProject("owner"),
    params: ProjectId,
    returns: Project,
    audit: "project_unarchived",
    async handle({ project, ...write }) {
      await setArchived(write.tx, project.id, false);
      return auditAndView(write, project.id);
    },
  }),

  transfer: endpoint({
    method: "PUT",
    path: "/projects/:id/transfer",
    summary: "Move a project to another namespace",
    access: inProject("owner"),
    params: Transfer,
    returns: Project,
    audit: "project_transferred",
    prepare: async ({ actor, params, services: { db } }) => ({
      target: await namedNamespace(db, actor, params.namespace),
    }),
    async handle({ project, target, ...write }) {
      await transferProject(write.tx, project.id, target, await containerWriteContext(write));
      return auditAndView(write, project.id, { from: project.namespace_id, to: target.id });
    },
  }),

  avatar: endpoint({
    method: "GET",
    mount: "root",
    path: "/uploads/-/system/project/avatar/:id/:file",
    summary: "Get the avatar of a project",
    access: inProject("viewer"),
    params: AvatarFile,
    returns: plain("image/*"),
    async handle({ db, project, params, services, setHeader }) {
      const avatar = await db
        .selectFrom("projects")
        .select(["avatar_blob", "avatar_file"])
        .where("id", "=", project.id)
        .executeTakeFirst();
      const { bytes, type } = await avatarNamed(params.file, avatar, services.blobs);
      setHeader("cache-control", "private, max-age=300");
      setHeader("content-type", type);
      return bytes;
    },
  }),
};

type ProjectWrite = Pick<Writes, "tx" | "audit"> & {
  readonly actor: Actor;
  readonly services: Services;
  readonly site: string;
};

async function createIn(write: ProjectWrite, target: Target, given: Static<typeof NewProject>, creatorId: number) {
  const { tx, services } = write;
  const storages = storageNames(services.git);
  const id = await createProject(tx, given, target, creatorId, await containerWriteContext(write), storages);
  await addRepository(write, id, given.initialize_with_readme);
  return auditAndView(write, id);
}

/** Records a write in the audit log and returns the project as the caller sees it. */
async function auditAndView(
  { tx, actor, site, services, audit }: ProjectWrite,
  id: number,
  details: Record<string, unknown> = {},
) {
  const view = await viewProject(tx, id, { actor, site, services });
  audit({ type: "Project", id, name: view.path_with_namespace, entity: { type: "Project", id }, details });
  return view;
}
