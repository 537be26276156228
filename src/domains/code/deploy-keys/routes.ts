import { sql } from "kysely";
import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { inProject } from "#access/containers.ts";
import { isAdministrator } from "#access/principal.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Refusal } from "#lib/refusal.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { userByIdOrName } from "#domains/identity/users/named.ts";
import { addPublicKey, addToProject, changeKey, enableKey, removeFromProject } from "./actions.ts";
import { listInCommon, noCommonProject, requireCommonProject } from "./in-common.ts";
import {
  DeployKey,
  DeployKeyInProject,
  DeployKeyOfInstance,
  presentDeployKey,
  presentDeployKeyInProject,
} from "./entity.ts";
import { enabledProjects } from "./enabled-projects.ts";
import {
  DeployKeyChanges,
  DeployKeyFilters,
  DeployKeyOfProject,
  NewDeployKey,
  NewDeployKeyOfProject,
} from "./params.ts";
import { type DeployKeyInProjectRow, deployKeyOf, type DeployKeyRow, deployKeys, deployKeysIn } from "./queries.ts";

const OFFERING = ["self-managed", "dedicated"] as const;
const maintainer = inProject("maintainer");

export const allDeployKeys = {
  list: endpoint({
    method: "GET",
    path: "/deploy_keys",
    summary: "List the deploy keys of all projects",
    access: administrator(),
    offering: OFFERING,
    params: DeployKeyFilters,
    returns: pageOf(DeployKeyOfInstance, { id: "k.id" }),
    async handle({ db, params, page, services }) {
      const keys = deployKeys(db);
      const rows = await page.rows(params.public ? keys.where("k.public", "=", sql.lit(true)) : keys);
      const projectsOf = await enabledProjects(
        db,
        rows.map(({ id }) => id),
      );
      return rows.map((row) => ({
        ...presentDeployKey(services.config.fips)(row),
        projects_with_write_access: projectsOf(row.id, true),
        projects_with_readonly_access: projectsOf(row.id, false),
      }));
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/deploy_keys",
    summary: "Add a deploy key that every project may enable",
    access: administrator(),
    offering: OFFERING,
    params: NewDeployKey,
    returns: DeployKey,
    audit: "deploy_key_created",
    async handle({ tx, actor, params, services: { config }, audit }) {
      const key = await addPublicKey({ tx, actor, fips: config.fips }, params);
      const details = { fingerprint: key.fingerprint_sha256, expires_at: key.expires_at };
      audit({ type: "DeployKey", id: key.id, name: key.title, details });
      return presentDeployKey(config.fips)(key);
    },
  }),

  listInCommon: endpoint({
    method: "GET",
    path: "/users/:id_or_username/project_deploy_keys",
    summary: "List the deploy keys of the projects that the caller and a user both maintain",
    access: signedIn(),
    params: Type.Object({ id_or_username: Type.String({ maxLength: 255, description: "Id or username" }) }),
    returns: pageOf(DeployKey, { id: "k.id", keyset: ["id"] }),
    async handle({ db, databases, actor, params, page, services }) {
      const user = await userByIdOrName(databases, params.id_or_username);
      const isHidden = user.private_profile && user.id !== actor.user.id && !isAdministrator(actor);
      if (isHidden) throw noCommonProject();
      await requireCommonProject(db, actor, user.id);
      return page(deployKeys(db), presentDeployKey(services.config.fips), listInCommon(actor, user.id));
    },
  }),
};

export const deployKeysOfProjects = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/deploy_keys",
    summary: "List the deploy keys of a project",
    access: maintainer,
    params: ProjectId,
    returns: pageOf(DeployKeyInProject, { id: "d.id" }),
    handle: ({ db, project, page, services }) =>
      page(deployKeysIn(db, project.id), presentDeployKeyInProject(services.config.fips)),
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/deploy_keys/:key_id",
    summary: "Get a deploy key of a project",
    access: maintainer,
    params: DeployKeyOfProject,
    returns: DeployKeyInProject,
    async handle({ db, project, params, services }) {
      const key = await deployKeyOf(db, project.id, params.key_id);
      if (!key) throw new Refusal("missing", "404 Not found");
      return presentDeployKeyInProject(services.config.fips)(key);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/deploy_keys",
    summary: "Add a deploy key to a project",
    access: maintainer,
    params: NewDeployKeyOfProject,
    returns: DeployKeyInProject,
    audit: "deploy_key_added",
    async handle({ tx, actor, project, params, services: { config }, audit }) {
      const key = await addToProject({ tx, actor, fips: config.fips }, project.id, params);
      audit(targetOf(project.id, key));
      return presentDeployKeyInProject(config.fips)(key);
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id/deploy_keys/:key_id",
    summary: "Change a deploy key of a project",
    access: maintainer,
    params: DeployKeyChanges,
    returns: DeployKeyInProject,
    audit: "deploy_key_updated",
    async handle({ project, params, services, audit, ...changing }) {
      const key = await changeKey(changing, project.id, params.key_id, params);
      audit(targetOf(project.id, key));
      return presentDeployKeyInProject(services.config.fips)(key);
    },
  }),

  enable: endpoint({
    method: "POST",
    path: "/projects/:id/deploy_keys/:key_id/enable",
    summary: "Enable a deploy key in a project",
    access: maintainer,
    params: DeployKeyOfProject,
    returns: DeployKeyInProject,
    audit: "deploy_key_enabled",
    async handle({ tx, actor, project, params, services, audit }) {
      const key = await enableKey(tx, actor, project.id, params.key_id);
      audit(targetOf(project.id, key));
      return presentDeployKeyInProject(services.config.fips)(key);
    },
  }),

  disable: endpoint({
    method: "POST",
    path: "/projects/:id/deploy_keys/:key_id/disable",
    summary: "Remove a deploy key from a project and return it",
    access: maintainer,
    params: DeployKeyOfProject,
    returns: DeployKeyInProject,
    audit: "deploy_key_removed",
    async handle({ tx, project, params, services, audit }) {
      const key = await removeFromProject(tx, project.id, params.key_id);
      audit(targetOf(project.id, key));
      return presentDeployKeyInProject(services.config.fips)(key);
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/projects/:id/deploy_keys/:key_id",
    summary: "Remove a deploy key from a project",
    access: maintainer,
    params: DeployKeyOfProject,
    audit: "deploy_key_removed",
    conditional: true,
    async handle({ tx, project, params, audit, unlessModified }) {
      const key = await removeFromProject(tx, project.id, params.key_id);
      unlessModified(key.updated_at);
      audit(targetOf(project.id, key));
    },
  }),
};

const targetOf = (projectId: number, key: DeployKeyRow & Pick<DeployKeyInProjectRow, "can_push">) =>
  ({
    type: "DeployKey",
    id: key.id,
    name: key.title,
    details: { fingerprint: key.fingerprint_sha256, can_push: key.can_push },
    entity: { type: "Project", id: projectId },
  }) as const;
