// Error tracking with @gitbeaker/rest 43.8.
import { deepEqual, equal, match } from "node:assert/strict";
import { check, client, crew, host, ids, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-watch");
const project = (await api.Projects.create({ name: "Beaker Watch" })).id;
const settings = { project_name: null, sentry_external_url: null, api_url: null };

/** The client's types have fewer fields than its calls return, and its options lack the id of a key. */
const shown = (value: object) => {
  const { active, integrated, project_name, sentry_external_url, api_url } = value as Record<string, unknown>;
  return { active, integrated, project_name, sentry_external_url, api_url };
};
const named = (id: number) => ({ keyId: id }) as object;

await check("error tracking: show and edit without settings", async () => {
  await refused(404, () => api.ErrorTrackingSettings.show(project), "404 Error Tracking Setting Not Found");
  await refused(404, () => api.ErrorTrackingSettings.edit(project, true), "404 Error Tracking Setting Not Found");
});

await check("error tracking: create, whose parameters are in the query, and show", async () => {
  const on = { active: true, integrated: true, ...settings };
  deepEqual(shown(await api.ErrorTrackingSettings.create(project, true, true)), on);
  deepEqual(shown(await api.ErrorTrackingSettings.show(project)), on);
});

await check("error tracking: edit with and without integrated", async () => {
  const off = { active: false, integrated: true, ...settings };
  deepEqual(shown(await api.ErrorTrackingSettings.edit(project, false)), off);
  const neither = await api.ErrorTrackingSettings.edit(project, false, { integrated: false });
  deepEqual(shown(neither), { ...off, integrated: false });
  await refused(400, () => api.ErrorTrackingSettings.edit(project, true), "must be true");
});

await check("client keys: all, create with its address, and every page", async () => {
  const [first] = await api.ErrorTrackingClientKeys.all(project);
  const made = await api.ErrorTrackingClientKeys.create(project);
  match(made.public_key, /^flet_[0-9a-f]{32}$/);
  const collector = `/api/v4/error_tracking/collector/${project}`;
  equal(made.sentry_dsn, host.replace("://", `://${made.public_key}@`) + collector);
  const pages = await api.ErrorTrackingClientKeys.all(project, { perPage: 1 });
  deepEqual(ids(pages), [first?.id, made.id]);
});

await check("client keys: remove, which names the key in the body", async () => {
  const [first, second] = ids(await api.ErrorTrackingClientKeys.all(project)) as [number, number];
  await api.ErrorTrackingClientKeys.remove(project, named(first));
  deepEqual(ids(await api.ErrorTrackingClientKeys.all(project)), [second]);
  await refused(404, () => api.ErrorTrackingClientKeys.remove(project, named(first)), "404 Not found");
  await refused(400, () => api.ErrorTrackingClientKeys.remove(project), "key_id is missing");
});

await check("error tracking: hidden from others", async () => {
  await refused(404, () => mate.api.ErrorTrackingSettings.show(project), "404 Project Not Found");
  await refused(404, () => mate.api.ErrorTrackingClientKeys.all(project), "404 Project Not Found");
});
