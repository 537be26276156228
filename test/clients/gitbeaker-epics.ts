// Epics of groups, their child epics and issues, with @gitbeaker/rest 43.8.
import { deepEqual, equal } from "node:assert/strict";
import { check, client, crew, ids, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-helm");
const { id: group } = await api.Groups.create("Beaker Bridge", "beaker-bridge");
const { id: project } = await api.Projects.create({ name: "Beaker Wheel", namespaceId: group });

await check("epics: create, show, edit and all", async () => {
  const made = await api.Epics.create(group, "Voyage", {
    labels: "sea",
    dueDateFixed: "2030-01-02",
    dueDateIsFixed: true,
  });
  deepEqual([made.iid, made.labels, made.due_date], [1, ["sea"], "2030-01-02"]);
  equal((await api.Epics.show(group, 1)).id, made.id);
  const edited = await api.Epics.edit(group, 1, { title: "Long voyage", addLabels: "wind", stateEvent: "close" });
  deepEqual([edited.title, edited.labels, edited.state], ["Long voyage", ["sea", "wind"], "closed"]);
  deepEqual(ids(await api.Epics.all(group, { labels: "sea,wind", state: "closed" })), [made.id]);
  await refused(404, () => api.Epics.show(group, 99), "404 Not found");
});

await check("epics: child epics created, assigned, ordered and removed", async () => {
  const made = await api.EpicLinks.create(group, 1, "Leg");
  const other = await api.Epics.create(group, "Passage");
  await api.EpicLinks.assign(group, 1, other.id);
  deepEqual(ids(await api.EpicLinks.all(group, 1)), [made.id, other.id]);
  await api.EpicLinks.reorder(group, 1, other.id, { moveAfterId: made.id });
  deepEqual(ids(await api.EpicLinks.all(group, 1)), [other.id, made.id]);
  await api.EpicLinks.unassign(group, 1, made.id);
  deepEqual(ids(await api.EpicLinks.all(group, 1)), [other.id]);
});

await check("epics: issues added, ordered and removed", async () => {
  const [caulk, sew] = [await api.Issues.create(project, "Caulk"), await api.Issues.create(project, "Sew")];
  const first = await api.EpicIssues.assign(group, 1, caulk.id);
  const second = await api.EpicIssues.assign(group, 1, sew.id);
  deepEqual(ids(await api.EpicIssues.all(group, 1)), [caulk.id, sew.id]);
  await api.EpicIssues.edit(group, 1, first.id, { moveBeforeId: second.id });
  deepEqual(ids(await api.EpicIssues.all(group, 1)), [sew.id, caulk.id]);
  await api.EpicIssues.remove(group, 1, first.id);
  deepEqual(ids(await api.EpicIssues.all(group, 1)), [sew.id]);
});

await check("epics: hidden from others, and removed", async () => {
  await refused(404, () => mate.api.Epics.show(group, 1), "404 Group Not Found");
  await api.Epics.remove(group, 1);
  await refused(404, () => api.Epics.show(group, 1), "404 Not found");
});
