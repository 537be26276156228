// Activity events with @gitbeaker/rest 43.8.
import { deepEqual, equal } from "node:assert/strict";
import { check, client } from "./gitbeaker-support.ts";

const api = client();
const { id: projectId } = await api.Projects.create({ name: "Beaker Events", initializeWithReadme: true });
const { iid } = await api.Issues.create(projectId, "Drift");
await api.IssueNotes.create(projectId, iid, "By the current");
await api.Issues.edit(projectId, iid, { stateEvent: "close" });

const said = (events: readonly unknown[]) =>
  (events as { action_name: string; target_type: string | null }[]).map(({ action_name, target_type }) => [
    action_name,
    target_type,
  ]);

await check("events of a project, with filters", async () => {
  deepEqual(said(await api.Events.all({ projectId, sort: "asc" })), [
    ["created", null],
    ["pushed", null],
    ["opened", "Issue"],
    ["commented on", "Note"],
    ["closed", "Issue"],
  ]);
  deepEqual(said(await api.Events.all({ projectId, targetType: "issue", action: "closed" })), [["closed", "Issue"]]);
});

await check("events of a user by the id and by the name, and one's own", async () => {
  const { id, username } = await api.Users.showCurrentUser();
  const newest = { perPage: 1, maxPages: 1 };
  for (const userId of [id, username])
    deepEqual(said(await api.Events.all({ userId, ...newest })), [["closed", "Issue"]]);
  const [event] = await api.Users.allEvents(id, newest);
  equal(event?.author_username, username);
  deepEqual(said(await api.Events.all({ scope: "all", ...newest })), [["closed", "Issue"]]);
});
