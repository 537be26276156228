import Type, { type Static } from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { projectAddress } from "#access/addresses.ts";
import { inGroup, inProject, visibleProject } from "#access/containers.ts";
import { endpoint, plain, type Writes } from "#http/endpoint.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { avatarNamed } from "#resources/avatars/images.ts";
import { GroupDetail } from "#resources/groups/entity.ts";
import { viewGroup } from "#resources/groups/views.ts";
import { Accepted, accepted } from "#resources/namespaces/entity.ts";
import { writing } from "#resources/namespaces/writing.ts";
import { repositoryPlacing } from "#resources/repositories/maintenance.ts";
import { storageNames } from "#resources/settings/storages.ts";
import { createProject, updateProject } from "./actions.ts";
import { beginRepository, refuseAbsentBranch } from "./beginning.ts";
import { Project, ProjectSummary } from "./entity.ts";
import { removeMarkedProject } from "./jobs.ts";
import { markedAt, markForDeletion, restoreProject, setArchived, transferProject } from "./lifecycle.ts";
import { projectLists } from "./list-routes.ts";
import {
  AvatarFile,
  GroupsProject,
  NewProject,
  NewProjectOfUser,
  ProjectChanges,
  ProjectId,
  Removal,
  Transfer,
} from "./params.ts";
import { namedPlace, ownPlace, type Target } from "./places.ts";
import { projectRelations } from "./relation-routes.ts";
import { viewProject } from "./views.ts";

const seesGroup = inGroup("viewer", { signedIn: true });
const administratorSeesGroup: typeof seesGroup = {
  ...seesGroup,
  rule: "administrators",
  async check(caller) {
    const granted = await seesGroup.check(caller);
    if (!isAdministrator(granted.actor)) throw forbidden();
    return granted;
  },
};

export const projects = {
  ...projectLists,

  get: endpoint({
    method: "GET",
    path: "/projects/:id",
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
          ? await ownPlace(db, actor.user.id)
          : await namedPlace(db, actor, params.namespace_id),
    }),
    handle: ({ params, target, ...changing }) => created(changing, params, target, changing.actor.user.id),
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
      const own = await ownPlace(db, params.user_id);
      return { target: params.namespace_id === undefined ? own : await namedPlace(db, actor, params.namespace_id) };
    },
    handle: ({ params, target, ...changing }) => created(changing, params, target, params.user_id),
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id",
    summary: "Change a project",
    access: inProject("maintainer"),
    params: ProjectChanges,
    returns: Project,
    audit: "project_updated",
    camelCase: true,
    async prepare({ project, params, services, consumer }) {
      await refuseAbsentBranch(services, project, params.default_branch, consumer);
      return {};
    },
    async handle({ project, params, ...changing }) {
      const { tx, services } = changing;
      const changed = await updateProject(tx, project, params, await writing(changing));
      if (changed.includes("default_branch")) {
        await services.jobs.add(tx, repositoryPlacing, { project_id: project.id });
      }
      return told(changing, project.id, { changed });
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id",
    summary: "Delete a project",
    access: inProject("owner"),
    params: Removal,
    returns: Accepted,
    status: 202,
    audit: "project_deleted",
    async handle({ project: { id }, params, ...changing }) {
      const { tx, services } = changing;
      const { permanently_remove: now = false, full_path } = params;
      const { path_with_namespace } = await told(changing, id, { permanently: now });
      const { deletion_adjourned_period: days } = await services.settings.current();
      const marked_at = now ? await markedAt(tx, id) : await markForDeletion(tx, id);
      if (now && full_path !== path_with_namespace) {
        throw badRequest("`full_path` is incorrect. You must enter the complete path for the project.");
      }
      if (now || days === 0) await services.jobs.add(tx, removeMarkedProject, { id, marked_at });
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
    async handle({ project, ...changing }) {
      await restoreProject(changing.tx, project.id);
      return told(changing, project.id);
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
    async handle({ project, ...changing }) {
      await setArchived(changing.tx, project.id, true);
      return told(changing, project.id);
    },
  }),

  unarchive: endpoint({
    method: "POST",
    path: "/projects/:id/unarchive",
    summary: "Take a project out of the archive",
    access: inProject("owner"),
    params: ProjectId,
    returns: Project,
    audit: "project_unarchived",
    async handle({ project, ...changing }) {
      await setArchived(changing.tx, project.id, false);
      return told(changing, project.id);
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
    prepare: async ({ actor, params, services: { db } }) => ({ target: await namedPlace(db, actor, params.namespace) }),
    async handle({ project, target, ...changing }) {
      await transferProject(changing.tx, project.id, target, await writing(changing));
      return told(changing, project.id, { from: project.namespace_id, to: target.id });
    },
  }),

  transferToGroup: endpoint({
    method: "POST",
    path: "/groups/:id/projects/:project_id",
    summary: "Move a project into a group",
    access: administratorSeesGroup,
    params: GroupsProject,
    returns: GroupDetail,
    audit: "project_transferred",
    async prepare({ actor, params, services: { db } }) {
      const address = await projectAddress(db, params.project_id);
      const project = await visibleProject(db, actor, address.id);
      if (!project) throw missing("Project");
      return { project };
    },
    async handle({ group, project, ...changing }) {
      const { tx, actor, site } = changing;
      await transferProject(tx, project.id, group, await writing(changing));
      await told(changing, project.id, { from: project.namespace_id, to: group.id });
      return viewGroup(tx, group.id, { actor, level: group.level, site });
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
      const kept = await db
        .selectFrom("projects")
        .select(["avatar_blob", "avatar_file"])
        .where("id", "=", project.id)
        .executeTakeFirst();
      const { bytes, type } = await avatarNamed(params.file, kept, services.blobs);
      setHeader("cache-control", "private, max-age=300");
      setHeader("content-type", type);
      return bytes;
    },
  }),

  ...projectRelations,
};

type Changing = Pick<Writes, "tx" | "audit"> & {
  readonly actor: Actor;
  readonly services: Services;
  readonly site: string;
};

async function created(changing: Changing, given: Static<typeof NewProject>, target: Target, creatorId: number) {
  const { tx, services } = changing;
  const storages = storageNames(services.git);
  const id = await createProject(tx, given, target, creatorId, await writing(changing), storages);
  await beginRepository(changing, id, given.initialize_with_readme);
  return told(changing, id);
}

/** Tells the log and the caller what became of a project. */
async function told({ tx, actor, site, services, audit }: Changing, id: number, details: Record<string, unknown> = {}) {
  const view = await viewProject(tx, id, { actor, site, services });
  audit({ type: "Project", id, name: view.path_with_namespace, entity: { type: "Project", id }, details });
  return view;
}
