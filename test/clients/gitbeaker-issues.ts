// Issues with @gitbeaker/rest 43.8.
import { deepEqual, equal } from "node:assert/strict";
import { check, client, crew, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-issue");
const { id: group } = await api.Groups.create("Beaker Leaks", "beaker-leaks");
const { id: project } = await api.Projects.create({ name: "Beaker Hull", namespaceId: group });
const { id: other } = await api.Projects.create({ name: "Beaker Keel", namespaceId: group });
const titles = (rows: { title: string }[]) => rows.map(({ title }) => title);

await check("issues: create and show", async () => {
  const made = await api.Issues.create(project, "Leak", { labels: "bug,wet", weight: 2, dueDate: "2031-01-31" });
  deepEqual([made.iid, made.state, made.labels, made.weight], [1, "opened", ["bug", "wet"], 2]);
  deepEqual(await api.Issues.show(1, { projectId: project }), made);
  equal((await api.Issues.show(made.id)).title, "Leak");
});

await check("issues: all with filters, of a project, a group and everywhere", async () => {
  await api.Issues.create(project, "Rust", { labels: "bug" });
  deepEqual(titles(await api.Issues.all({ projectId: project, labels: "bug", orderBy: "title", sort: "asc" })), [
    "Leak",
    "Rust",
  ]);
  deepEqual(titles(await api.Issues.all({ projectId: project, labels: "bug,wet" })), ["Leak"]);
  deepEqual(titles(await api.Issues.all({ groupId: group, not: { labels: "wet" } })), ["Rust"]);
  deepEqual(titles(await api.Issues.all({ scope: "all", search: "Rust", in: "title", projectId: project })), ["Rust"]);
  deepEqual(titles(await api.Issues.all({ projectId: project, perPage: 1, sort: "asc" })), ["Leak", "Rust"]);
  const { statistics } = await api.IssuesStatistics.all({ projectId: project });
  deepEqual(statistics.counts, { all: 2, closed: 0, opened: 2 });
});

await check("issues: edit with labels and state", async () => {
  const edited = await api.Issues.edit(project, 1, { addLabels: "calm", removeLabels: "wet", stateEvent: "close" });
  deepEqual([edited.labels, edited.state], [["bug", "calm"], "closed"]);
  equal((await api.Issues.allParticipants(project, 1)).length, 1);
});

await check("issues: reorder and move", async () => {
  const { id: first } = await api.Issues.show(1, { projectId: project });
  await api.Issues.reorder(project, 2, { moveBeforeId: first });
  deepEqual(titles(await api.Issues.all({ projectId: project, orderBy: "relative_position", sort: "asc" })), [
    "Rust",
    "Leak",
  ]);
  const moved = await api.Issues.move(project, 2, other);
  deepEqual([moved.project_id, moved.iid], [other, 1]);
});

await check("issues: hidden from others, and removed", async () => {
  await refused(404, () => mate.api.Issues.all({ projectId: project }), "404 Project Not Found");
  await api.Issues.remove(project, 1);
  await refused(404, () => api.Issues.show(1, { projectId: project }), "404 Not found");
});
