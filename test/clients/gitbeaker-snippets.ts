// Snippets, and moves of their repositories between storages, with @gitbeaker/rest 43.8.
import { deepEqual, equal, ok } from "node:assert/strict";
import { check, client, crew, ids, movedThereAndBack, refused } from "./gitbeaker-support.ts";

const api = client();
const mate = await crew("beaker-splice");
const { id: project } = await api.Projects.create({ name: "Beaker Knots" });
/** Its types leave out the title. */
const titled = (title: string) => ({ title }) as object;
const files = [
  { filePath: "a.md", content: "A" },
  { filePath: "b.md", content: "B" },
];

await check("personal snippets: create, show, content, edit, all, remove", async () => {
  const { id, title } = await api.Snippets.create("Splices", { files, visibility: "public" });
  equal(title, "Splices");
  equal((await api.Snippets.show(id)).title, "Splices");
  equal(await api.Snippets.showContent(id), "A");
  equal(await api.Snippets.showRepositoryFileContent(id, "main", "b.md"), "B");
  ok(ids(await api.Snippets.all()).includes(id));
  ok(ids(await mate.api.Snippets.all({ public: true })).includes(id));
  await refused(403, () => mate.api.Snippets.edit(id, titled("x")), "not allowed");
  const changed = await api.Snippets.edit(id, { ...titled("Long splices"), visibility: "private" });
  deepEqual([changed.title, changed.visibility], ["Long splices", "private"]);
  await refused(404, () => mate.api.Snippets.show(id), "404 Snippet Not Found");
  await api.Snippets.remove(id);
  await refused(404, () => api.Snippets.show(id));
});

await check("project snippets: create, show, content, edit, all, remove", async () => {
  const { id } = await api.ProjectSnippets.create(project, "Splices", { files, visibility: "public" });
  equal((await api.ProjectSnippets.show(project, id)).project_id, project);
  equal(await api.ProjectSnippets.showContent(project, id), "A");
  equal(await api.ProjectSnippets.showRepositoryFileContent(project, id, "main", "b.md"), "B");
  deepEqual(ids(await api.ProjectSnippets.all(project)), [id]);
  equal((await api.ProjectSnippets.edit(project, id, titled("Eyes"))).title, "Eyes");
  await refused(404, () => mate.api.ProjectSnippets.show(project, id), "404 Project Not Found");
  await api.ProjectSnippets.remove(project, id);
  deepEqual(await api.ProjectSnippets.all(project), []);
});

await check("moves of snippets: schedule for one, show, all, and all of a storage", async () => {
  const { id: snippetId } = await api.Snippets.create("Moving", { files });
  await movedThereAndBack(api.SnippetRepositoryStorageMoves, { snippetId }, async () =>
    equal(await api.Snippets.showContent(snippetId), "A"),
  );
  await refused(403, () => mate.api.SnippetRepositoryStorageMoves.all());
});
