import { inProject, type ProjectSeen } from "#access/containers.ts";
import { type Conditional, endpoint, type Writes } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { addClientKey, changeSettings, removeClientKey, replaceSettings } from "./actions.ts";
import { ErrorTrackingClientKey, ErrorTrackingSettings, presentClientKey, presentSettings } from "./entity.ts";
import { ClientKeyId, NewSettings, SettingsChanges } from "./params.ts";
import { type ClientKeyRow, clientKeysOf, settingsOf, type SettingsRow } from "./queries.ts";

const SETTINGS_PATH = "/projects/:id/error_tracking/settings";
const KEYS_PATH = "/projects/:id/error_tracking/client_keys";
const maintainer = inProject("maintainer");

interface Deletion extends Pick<Writes, "tx" | "audit">, Conditional {
  readonly project: ProjectSeen;
  readonly params: { readonly key_id: number };
  readonly site: string;
}

const deletion = {
  method: "DELETE",
  access: maintainer,
  params: ClientKeyId,
  returns: ErrorTrackingClientKey,
  audit: "error_tracking_client_key_deleted",
  conditional: true,
  async handle({ tx, project, params, site, audit, unlessModified }: Deletion) {
    const key = await removeClientKey(tx, project.id, params.key_id);
    unlessModified(key.created_at);
    audit(keyTarget(key));
    return presentClientKey(site)(key);
  },
} as const;

export const errorTracking = {
  getSettings: endpoint({
    method: "GET",
    path: SETTINGS_PATH,
    summary: "Get the error-tracking settings of a project",
    access: maintainer,
    params: ProjectId,
    returns: ErrorTrackingSettings,
    handle: async ({ db, project }) => presentSettings(await settingsOf(db, project.id)),
  }),

  replaceSettings: endpoint({
    method: "PUT",
    path: SETTINGS_PATH,
    summary: "Create or replace the error-tracking settings of a project",
    access: maintainer,
    params: NewSettings,
    returns: ErrorTrackingSettings,
    audit: "error_tracking_settings_replaced",
    async handle({ tx, project, params, audit }) {
      const settings = await replaceSettings(tx, project.id, params);
      audit(settingsTarget(project, settings));
      return presentSettings(settings);
    },
  }),

  changeSettings: endpoint({
    method: "PATCH",
    path: SETTINGS_PATH,
    summary: "Activate or deactivate error tracking in a project that has settings for it",
    access: maintainer,
    params: SettingsChanges,
    returns: ErrorTrackingSettings,
    audit: "error_tracking_settings_changed",
    async handle({ tx, project, params, audit }) {
      const settings = await changeSettings(tx, project.id, params);
      audit(settingsTarget(project, settings));
      return presentSettings(settings);
    },
  }),

  listClientKeys: endpoint({
    method: "GET",
    path: KEYS_PATH,
    summary: "List the client keys of a project",
    access: maintainer,
    params: ProjectId,
    returns: pageOf(ErrorTrackingClientKey, { id: "k.id" }),
    handle: ({ db, project, page, site }) => page(clientKeysOf(db, project.id), presentClientKey(site)),
  }),

  createClientKey: endpoint({
    method: "POST",
    path: KEYS_PATH,
    summary: "Create a client key",
    access: maintainer,
    params: ProjectId,
    returns: ErrorTrackingClientKey,
    audit: "error_tracking_client_key_created",
    async handle({ tx, project, site, audit }) {
      const key = await addClientKey(tx, project.id);
      audit(keyTarget(key));
      return presentClientKey(site)(key);
    },
  }),

  deleteClientKey: endpoint({ path: `${KEYS_PATH}/:key_id`, summary: "Delete a client key", ...deletion }),

  // A widely used client names the key in the body.
  deleteClientKeyByParameter: endpoint({
    path: KEYS_PATH,
    summary: "Delete the client key that a parameter names",
    ...deletion,
  }),
};

const settingsTarget = ({ id, name }: ProjectSeen, { active, integrated }: SettingsRow) =>
  ({
    ...{ type: "ErrorTrackingSettings", id, name, details: { active, integrated } },
    entity: { type: "Project", id },
  }) as const;

const keyTarget = ({ id, project_id }: ClientKeyRow) =>
  ({
    ...{ type: "ErrorTrackingClientKey", id, name: `Client key ${id}` },
    entity: { type: "Project", id: project_id },
  }) as const;
