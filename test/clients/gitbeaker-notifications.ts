// Notification settings and subscriptions with @gitbeaker/rest 43.8.
import { equal } from "node:assert/strict";
import { check, client, refused } from "./gitbeaker-support.ts";

const api = client();
const { id: groupId } = await api.Groups.create("Beaker Lookouts", "beaker-lookouts");
const { id: projectId } = await api.Projects.create({ name: "Beaker Mast", namespaceId: groupId });
const issue = await api.Issues.create(projectId, "Fog");

await check("notification settings: everywhere, of a group and of a project", async () => {
  for (const [place, first] of [
    [{}, "participating"],
    [{ groupId }, "global"],
    [{ projectId }, "global"],
  ] as const) {
    equal((await api.NotificationSettings.show(place)).level, first);
    equal((await api.NotificationSettings.edit({ ...place, level: "watch" })).level, "watch");
    equal((await api.NotificationSettings.edit({ ...place, level: first })).level, first);
  }
});

await check("issues: subscribe and unsubscribe", async () => {
  await refused(304, () => api.Issues.subscribe(projectId, issue.iid));
  equal((await api.Issues.unsubscribe(projectId, issue.iid)).subscribed, false);
  equal((await api.Issues.subscribe(projectId, issue.iid)).subscribed, true);
});
