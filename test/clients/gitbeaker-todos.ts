// Rendering Markdown with @gitbeaker/rest 43.8.
import { equal, ok } from "node:assert/strict";
import { check, client } from "./gitbeaker-support.ts";

const api = client();
const { id: group } = await api.Groups.create("Beaker Hands", "beaker-hands");
const { id: project } = await api.Projects.create({ name: "Beaker Deck", namespaceId: group });
const issue = await api.Issues.create(project, "Scrub");

await check("markdown: rendered with references, the project by its id", async () => {
  equal((await api.Markdown.render("**Hello**")).html, "<p><strong>Hello</strong></p>\n");
  const { html } = await api.Markdown.render(`#${issue.iid}`, { gfm: "true", project });
  ok(html.includes(issue.web_url), html);
});
