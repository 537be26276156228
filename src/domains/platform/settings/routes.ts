import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { storageNames } from "#domains/storage/storages/weights.ts";
import { changeSettings } from "./actions.ts";
import { ApplicationSettings, presentSettings, SettingsChanges } from "./entity.ts";

export const settings = {
  get: endpoint({
    method: "GET",
    path: "/application/settings",
    summary: "Get the settings of the instance",
    access: administrator(),
    params: Type.Object({}),
    returns: ApplicationSettings,
    // Reads the table, not the cache: a caller who has just changed a setting must see the change.
    handle: async ({ databases, services: { git } }) =>
      presentSettings(
        await databases.write.selectFrom("settings").selectAll().executeTakeFirstOrThrow(),
        storageNames(git),
      ),
  }),

  update: endpoint({
    method: "PUT",
    path: "/application/settings",
    summary: "Change settings of the instance",
    access: administrator(),
    params: SettingsChanges,
    returns: ApplicationSettings,
    audit: "application_settings_updated",
    async handle({ tx, params, audit, services: { git } }) {
      const { settings, changed } = await changeSettings(tx, params, storageNames(git));
      audit({ type: "ApplicationSettings", id: 1, name: "application settings", details: { changed } });
      return settings;
    },
  }),
};
