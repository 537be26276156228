// Milestones of projects and groups with @gitbeaker/rest 43.8.
import { deepEqual, equal } from "node:assert/strict";
import { check, client, crew, ids, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-goal");
const { id: group } = await api.Groups.create("Beaker Goals", "beaker-goals");
const { id: project } = await api.Projects.create({ name: "Beaker Voyage", namespaceId: group });
const titles = (rows: { title: string }[]) => rows.map(({ title }) => title);

for (const [kind, place, milestones] of [
  ["project", project, api.ProjectMilestones],
  ["group", group, api.GroupMilestones],
] as const) {
  await check(`milestones of a ${kind}: create, show and all`, async () => {
    const dates = { startDate: "2031-01-01", dueDate: "2031-01-31" };
    const made = await milestones.create(place, `${kind} v1`, { description: "First", ...dates });
    deepEqual([made.title, made.iid, made.state, made.expired], [`${kind} v1`, 1, "active", false]);
    deepEqual([made.start_date, made.due_date, made[`${kind}_id`]], ["2031-01-01", "2031-01-31", place]);
    deepEqual(await milestones.show(place, made.id), made);
    deepEqual(ids(await milestones.all(place, { iids: [1], state: "active", search: "V1" })), [made.id]);
    deepEqual(await milestones.all(place, { title: "v1" }), []);
    await refused(400, () => milestones.create(place, made.title), "has already been taken");
  });

  await check(`milestones of a ${kind}: edit and allAssignedIssues`, async () => {
    const [id = 0] = ids(await milestones.all(place));
    const edited = await milestones.edit(place, id, { title: `${kind} v2`, stateEvent: "close" });
    deepEqual([edited.title, edited.state, edited.description], [`${kind} v2`, "closed", "First"]);
    await api.Issues.create(project, `${kind} leak`, { milestoneId: id });
    deepEqual(titles(await milestones.allAssignedIssues(place, id)), [`${kind} leak`]);
    await refused(400, () => milestones.edit(place, id), "at least one parameter must be provided");
  });
}

await check("milestones: those of the groups above on request", async () => {
  deepEqual(titles(await api.ProjectMilestones.all(project)), ["project v2"]);
  const both = await api.ProjectMilestones.all(project, { includeParentMilestones: true, perPage: 1 });
  deepEqual(titles(both).toSorted(), ["group v2", "project v2"]);
});

await check("milestones of issues: filters, edit and none", async () => {
  const found = await api.Issues.all({ projectId: project, milestone: "group v2" });
  deepEqual(titles(found), ["group leak"]);
  equal(found[0]?.milestone?.title, "group v2");
  deepEqual(titles(await api.Issues.all({ groupId: group, not: { milestone: "group v2" } })), ["project leak"]);
  deepEqual(titles(await api.Issues.all({ projectId: project, milestone_id: "None" })), []);
  const edited = await api.Issues.edit(project, found[0]?.iid ?? 0, { milestoneId: 0 });
  equal(edited.milestone, null);
});

await check("milestones: promote and remove", async () => {
  const [id = 0] = ids(await api.ProjectMilestones.all(project));
  await api.ProjectMilestones.promote(project, id);
  deepEqual(titles(await api.GroupMilestones.all(group)).toSorted(), ["group v2", "project v2"]);
  await api.GroupMilestones.remove(group, id);
  await refused(404, () => api.GroupMilestones.show(group, id), "404 Milestone Not Found");
});

await check("milestones: hidden from others", async () => {
  await refused(404, () => mate.api.ProjectMilestones.all(project), "404 Project Not Found");
  await refused(404, () => mate.api.GroupMilestones.all(group), "404 Group Not Found");
});
