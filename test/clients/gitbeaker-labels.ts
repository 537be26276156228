// Labels of projects and groups with @gitbeaker/rest 43.8, which changes them by id or name in the path.
import { deepEqual, equal } from "node:assert/strict";
import { check, client, crew, ids, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-stamp");
const { id: group } = await api.Groups.create("Beaker Stamps", "beaker-stamps");
const { id: project } = await api.Projects.create({ name: "Beaker Ink", namespaceId: group });
const names = (rows: { name: string }[]) => rows.map(({ name }) => name);

for (const [kind, place, labels] of [
  ["project", project, api.ProjectLabels],
  ["group", group, api.GroupLabels],
] as const) {
  await check(`labels of a ${kind}: create, show by id and name, and all`, async () => {
    const made = await labels.create(place, `${kind} bug`, "#8899aa", { description: "Flaws" });
    deepEqual([made.name, made.color, made.text_color], [`${kind} bug`, "#8899aa", "#1F1E24"]);
    equal((await labels.show(place, made.id)).name, made.name);
    equal((await labels.show(place, made.name)).id, made.id);
    deepEqual(ids(await labels.all(place)), [made.id]);
    await refused(409, () => labels.create(place, made.name, "red"), "Label already exists");
    await refused(400, () => labels.create(place, "x", "reddish"), "must be a valid color code");
  });

  await check(`labels of a ${kind}: edit by name and by id`, async () => {
    const edited = await labels.edit(place, `${kind} bug`, { newName: `${kind} a/b.c` });
    deepEqual([edited.name, edited.color, edited.description], [`${kind} a/b.c`, "#8899aa", "Flaws"]);
    const { color, description } = await labels.edit(place, edited.id, { color: "tomato", description: "Cracks" });
    deepEqual([color, description], ["#ff6347", "Cracks"]);
    await refused(404, () => labels.edit(place, `${kind} bug`, { color: "red" }), "404 Label Not Found");
  });

  await check(`labels of a ${kind}: remove by a name with a slash`, async () => {
    await labels.remove(place, `${kind} a/b.c`);
    deepEqual(await labels.all(place), []);
    await refused(404, () => labels.remove(place, `${kind} a/b.c`), "404 Label Not Found");
  });
}

await check("labels: a project has those of its group, on every page, with counts", async () => {
  await api.GroupLabels.create(group, "above", "teal");
  await api.ProjectLabels.create(project, "own", "teal", { priority: 3 });
  await api.Issues.create(project, "Blot", { labels: "own" });
  deepEqual(names(await api.ProjectLabels.all(project, { perPage: 1 })), ["above", "own"]);
  deepEqual(names(await api.ProjectLabels.all(project, { includeAncestorGroups: false })), ["own"]);
  const counted = await api.ProjectLabels.all(project, { withCounts: true });
  deepEqual(
    counted.map(({ open_issues_count, priority }) => [open_issues_count, priority]),
    [
      [0, null],
      [1, 3],
    ],
  );
});

await check("labels: promote", async () => {
  const { id } = await api.ProjectLabels.show(project, "own");
  const promoted = await api.ProjectLabels.promote(project, "own");
  deepEqual([promoted.id, promoted.is_project_label], [id, false]);
  deepEqual(names(await api.GroupLabels.all(group)), ["above", "own"]);
});

await check("labels: hidden from others", async () => {
  await refused(404, () => mate.api.ProjectLabels.all(project), "404 Project Not Found");
  await refused(404, () => mate.api.GroupLabels.show(group, "own"), "404 Group Not Found");
});
