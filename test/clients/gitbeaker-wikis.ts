// Wikis, and moves of those of groups between storages, with @gitbeaker/rest 43.8.
import { deepEqual, equal } from "node:assert/strict";
import { check, client, crew, movedThereAndBack, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-pilot");
const project = await api.Projects.create({ name: "Beaker Pages" });
const group = await api.Groups.create("Beaker Wikis", "beaker-wikis");

for (const [kind, { id }, wikis] of [
  ["project", project, api.ProjectWikis],
  ["group", group, api.GroupWikis],
] as const) {
  await check(`wiki of a ${kind}: create, show, edit, all, remove`, async () => {
    const page = await wikis.create(id, "# Welcome", "Home port");
    deepEqual([page.slug, page.title, page.format], ["Home-port", "Home port", "markdown"]);
    equal((await wikis.show(id, "Home-port")).content, "# Welcome");
    equal((await wikis.edit(id, "Home-port", { content: "# Aboard" })).content, "# Aboard");
    await wikis.create(id, "Long", "rope/splices");
    deepEqual(
      (await wikis.all(id, { withContent: true })).map(({ content }) => content),
      ["# Aboard", "Long"],
    );
    await wikis.remove(id, "rope/splices");
    equal((await wikis.all(id)).length, 1);
    await refused(404, () => wikis.show(id, "rope/splices"), "404 Wiki page Not Found");
  });
}

await check("moves of groups: schedule for one, show, all, and all of a storage", async () => {
  const groupId = group.id;
  await movedThereAndBack(api.GroupRepositoryStorageMoves, { groupId }, async () =>
    equal((await api.GroupWikis.show(groupId, "Home-port")).content, "# Aboard"),
  );
  await refused(403, () => mate.api.GroupRepositoryStorageMoves.all());
});
