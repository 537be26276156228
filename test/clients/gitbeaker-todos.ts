// To-dos and rendering Markdown with @gitbeaker/rest 43.8.
import { deepEqual, equal, ok } from "node:assert/strict";
import { check, client, ids } from "./gitbeaker-support.ts";

const api = client();
const { id: group } = await api.Groups.create("Beaker Hands", "beaker-hands");
const { id: project } = await api.Projects.create({ name: "Beaker Deck", namespaceId: group });
const issue = await api.Issues.create(project, "Scrub");

await check("markdown: rendered with references, the project by its id", async () => {
  equal((await api.Markdown.render("**Hello**")).html, "<p><strong>Hello</strong></p>\n");
  const { html } = await api.Markdown.render(`#${issue.iid}`, { gfm: "true", project });
  ok(html.includes(issue.web_url), html);
});

await check("todos: of an issue and an epic, done one by one and all at once", async () => {
  await api.TodoLists.done();
  const epic = await api.Epics.create(group, "Refit");
  const marked = await api.Issues.createTodo(project, issue.iid);
  deepEqual([marked.action_name, marked.target_type, marked.target["id"]], ["marked", "Issue", issue.id]);
  const ofEpic = await api.Epics.createTodo(group, epic.iid);
  deepEqual(ids(await api.TodoLists.all()), [ofEpic.id, marked.id]);
  deepEqual(ids(await api.TodoLists.all({ type: "Epic", state: "pending", groupId: group })), [ofEpic.id]);
  equal((await api.TodoLists.done({ todoId: marked.id })).state, "done");
  await api.TodoLists.done();
  deepEqual(await api.TodoLists.all(), []);
});
