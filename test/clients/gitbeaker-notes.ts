// Notes on issues and epics with @gitbeaker/rest 43.8.
import { deepEqual, equal } from "node:assert/strict";
import { check, client, crew, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-note");
const { id: group } = await api.Groups.create("Beaker Log", "beaker-log", { visibility: "public" });
const { id: project } = await api.Projects.create({
  name: "Beaker Bell",
  namespaceId: group,
  visibility: "public",
});
await api.Issues.create(project, "Ring");
const bodies = (notes: { body: string; system: boolean }[]) =>
  notes.filter(({ system }) => !system).map(({ body }) => body);

await check("notes: create, show, edit, all and remove on an issue", async () => {
  const made = await api.IssueNotes.create(project, 1, "Twice");
  deepEqual([made.body, made.noteable_iid, made.noteable_type, made.internal], ["Twice", 1, "Issue", false]);
  deepEqual(await api.IssueNotes.show(project, 1, made.id), made);
  equal((await api.IssueNotes.edit(project, 1, made.id, { body: "Once" })).body, "Once");
  await api.IssueNotes.create(project, 1, "Thrice", { internal: true });
  deepEqual(bodies(await api.IssueNotes.all(project, 1, { sort: "asc", orderBy: "created_at" })), ["Once", "Thrice"]);
  deepEqual(bodies(await mate.api.IssueNotes.all(project, 1)), ["Once"]);
  await refused(403, () => mate.api.IssueNotes.edit(project, 1, made.id, { body: "x" }), "author");
  await api.IssueNotes.remove(project, 1, made.id);
  await refused(404, () => api.IssueNotes.show(project, 1, made.id), "404 Not found");
});

await check("notes: create, show, edit, all and remove on an epic", async () => {
  const epic = await api.Epics.create(group, "Watch");
  const made = await api.EpicNotes.create(group, epic.id, "Eight bells");
  equal((await api.EpicNotes.show(group, epic.id, made.id)).body, "Eight bells");
  await api.EpicNotes.edit(group, epic.id, made.id, { body: "Four bells" });
  deepEqual(bodies(await api.EpicNotes.all(group, epic.id)), ["Four bells"]);
  await api.EpicNotes.remove(group, epic.id, made.id);
  deepEqual(bodies(await api.EpicNotes.all(group, epic.id)), []);
});

await check("discussions: create, reply, change and remove", async () => {
  const { id } = await api.IssueDiscussions.create(project, 1, "Which way?");
  const reply = await api.IssueDiscussions.addNote(project, 1, id, "West");
  equal((await api.IssueDiscussions.editNote(project, 1, id, reply.id, { body: "East" })).body, "East");
  deepEqual(bodies((await api.IssueDiscussions.show(project, 1, id)).notes ?? []), ["Which way?", "East"]);
  await api.IssueDiscussions.removeNote(project, 1, id, reply.id);
  equal(
    (await api.IssueDiscussions.all(project, 1)).some((each) => each.id === id && each.notes?.length === 1),
    true,
  );
});

await check("discussions: on an epic", async () => {
  const epic = await api.Epics.create(group, "Ebb");
  const { id } = await api.EpicDiscussions.create(group, epic.id, "When?");
  const reply = await api.EpicDiscussions.addNote(group, epic.id, id, "Soon");
  equal((await api.EpicDiscussions.editNote(group, epic.id, id, reply.id, { body: "Now" })).body, "Now");
  deepEqual(bodies((await api.EpicDiscussions.show(group, epic.id, id)).notes ?? []), ["When?", "Now"]);
  await api.EpicDiscussions.removeNote(group, epic.id, id, reply.id);
  equal((await api.EpicDiscussions.all(group, epic.id)).length, 1);
});

await check("award emoji: on an issue and a note", async () => {
  const award = await api.IssueAwardEmojis.award(project, 1, "thumbsup");
  deepEqual(await api.IssueAwardEmojis.show(project, 1, award.id), award);
  equal((await api.Issues.show(1, { projectId: project })).upvotes, 1);
  await api.IssueAwardEmojis.remove(project, 1, award.id);
  deepEqual(await api.IssueAwardEmojis.all(project, 1), []);
  const { id: note } = await api.IssueNotes.create(project, 1, "Well done");
  await api.IssueNoteAwardEmojis.award(project, 1, note, "tada");
  equal((await api.IssueNoteAwardEmojis.all(project, 1, note)).length, 1);
});
