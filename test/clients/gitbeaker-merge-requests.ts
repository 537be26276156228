// Merge requests with @gitbeaker/rest 43.8.
import { deepEqual, equal } from "node:assert/strict";
import { check, client } from "./gitbeaker-support.ts";

const api = client();
const { id: projectId } = await api.Projects.create({ name: "Beaker Review", initializeWithReadme: true });
await api.Branches.create(projectId, "rope", "main");
const { id: root } = await api.Users.showCurrentUser();
const { iid } = await api.MergeRequests.create(projectId, "rope", "main", "Add a rope", { labels: "Bug" });

await check("merge requests: read, change and list", async () => {
  await api.MergeRequests.edit(projectId, iid, { addLabels: "New", reviewerIds: [root] });
  const request = await api.MergeRequests.show(projectId, iid);
  deepEqual([request.state, request.labels, request.reviewers?.[0]?.id], ["opened", ["Bug", "New"], root]);
  const titles = async (options: object) =>
    (await api.MergeRequests.all({ projectId, ...options })).map(({ title }) => title);
  deepEqual(await titles({ labels: "New" }), ["Add a rope"]);
  deepEqual(await titles({ state: "closed" }), []);
  equal((await api.MergeRequests.allParticipants(projectId, iid)).length, 1);
});

await check("merge requests: notes, discussions, emoji and label events", async () => {
  const note = await api.MergeRequestNotes.create(projectId, iid, "Which rope?");
  equal((await api.MergeRequestNotes.show(projectId, iid, note.id)).body, "Which rope?");
  await api.MergeRequestDiscussions.create(projectId, iid, "The long one");
  equal((await api.MergeRequestAwardEmojis.award(projectId, iid, "thumbsup")).name, "thumbsup");
  const events = await api.MergeRequestLabelEvents.all(projectId, iid);
  deepEqual(
    events.map(({ action, resource_type }) => [action, resource_type]),
    [
      ["add", "MergeRequest"],
      ["add", "MergeRequest"],
    ],
  );
  equal((await api.MergeRequestLabelEvents.show(projectId, iid, events[0]?.id ?? 0)).id, events[0]?.id);
});

await check("merge requests: closed, in the events, and removed", async () => {
  await api.MergeRequests.edit(projectId, iid, { stateEvent: "close" });
  const events = await api.Events.all({ projectId, targetType: "merge_request" });
  deepEqual(
    (events as { action_name: string }[]).map(({ action_name }) => action_name),
    ["closed", "opened"],
  );
  await api.MergeRequests.remove(projectId, iid);
  deepEqual(await api.MergeRequests.all({ projectId }), []);
});
