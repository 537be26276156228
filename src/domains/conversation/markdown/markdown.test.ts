import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { type Item, linkApp, type LinkApp } from "#domains/planning/links/test-support.ts";
import { type MarkdownRenderer, openMarkdown } from "#lib/markdown/renderer.ts";
import type { TestUser } from "#test/support/app.ts";

describe("POST /markdown", () => {
  let links: LinkApp;
  let user: TestUser;
  let markdown: MarkdownRenderer;
  before(async () => {
    links = await linkApp();
    // Even a busy machine renders within this time.
    markdown = openMarkdown({ maxRenderMs: 120_000 });
    Object.assign(links.app.services, { markdown });
    user = await links.app.makeUser();
  });
  after(async () => {
    await links.app.close();
    await markdown.close();
  });

  const render = (payload: object, { token }: { token: string | undefined } = user) =>
    links.app.post("/markdown", { token, payload });
  const htmlOf = async (payload: object, by = user): Promise<string> => {
    const { status, text, body } = await render(payload, by);
    assert.equal(status, 201, text);
    return body.html;
  };

  async function pathOf(projectId: number): Promise<string> {
    const { body } = await links.app.get(`/projects/${projectId}`, { token: user.token });
    return body.path_with_namespace;
  }

  /** A project and its group with an issue and an epic each. */
  async function place(given: object = {}) {
    const group = await links.group(user, "owner", given);
    const project = await links.insert.project(group, { visibility: VISIBILITIES.private, ...given });
    const [issue, epic] = [await links.issue(project), await links.epic(group)];
    const path = await pathOf(project);
    return { group, project, issue, epic, path, groupPath: path.slice(0, path.lastIndexOf("/")) };
  }

  const hrefsIn = (html: string): string[] => [...html.matchAll(/href="([^"]+)"/g)].map(([, href = ""]) => href);

  test("answers with HTML", async () => {
    const { status, body, headers } = await render({ text: "Hello **world**\n<script>ran()</script>" });
    assert.equal(status, 201);
    assert.deepEqual(body, { html: "<p>Hello <strong>world</strong></p>\n" });
    assert.equal(headers["content-type"], "application/json");
  });

  test("takes a token", async () => {
    assert.equal((await render({ text: "x" }, { token: undefined })).status, 401);
  });

  test("a text is needed, and may be empty", async () => {
    assert.equal((await render({})).status, 400);
    assert.deepEqual((await render({ text: "" })).body, { html: "" });
  });

  test("a text that is too long, or nested too deep, is refused", async () => {
    assert.equal((await render({ text: "a".repeat(524_289) })).status, 400);
    const { status, body } = await render({ text: "<b>".repeat(3000) });
    assert.deepEqual([status, typeof body.message], [422, "string"]);
  });

  test("references stay text without gfm", async () => {
    const { issue, epic, path, groupPath } = await place();
    const text = `#${issue.iid} ${path}#${issue.iid} ${groupPath}&${epic.iid} @${user.username}`;
    assert.deepEqual(hrefsIn(await htmlOf({ text, project: path })), []);
    assert.deepEqual(hrefsIn(await htmlOf({ text, project: path, gfm: false })), []);
  });

  test("references become links, short ones in the project", async () => {
    const { issue, epic, path, groupPath } = await place();
    const [name] = path.split("/").slice(-1);
    const refers = (text: string, project?: string) => htmlOf({ text, gfm: true, project });
    const [issueUrl, epicUrl] = [
      `http://localhost/${path}/-/issues/${issue.iid}`,
      `http://localhost/groups/${groupPath}/-/epics/${epic.iid}`,
    ];
    for (const text of [`#${issue.iid}`, `${name}#${issue.iid}`, `${path}#${issue.iid}`, `(#${issue.iid}).`])
      assert.deepEqual(hrefsIn(await refers(text, path)), [issueUrl], text);
    for (const text of [`&${epic.iid}`, `${groupPath}&${epic.iid}`, `${groupPath.toUpperCase()}&${epic.iid}`])
      assert.deepEqual(hrefsIn(await refers(text, path)), [epicUrl], text);
    assert.deepEqual(hrefsIn(await refers(`#${issue.iid} &${epic.iid} ${name}#${issue.iid}`)), []);
    assert.deepEqual(hrefsIn(await refers(`${path}#${issue.iid} ${groupPath}&${epic.iid}`)), [issueUrl, epicUrl]);
    assert.match(
      await refers(`#${issue.iid}`, path),
      new RegExp(`class="gfm gfm-issue" title="${issue.title}">#${issue.iid}</a>`),
    );
  });

  test("people are linked by their name, in any case", async () => {
    const url = `http://localhost/${user.username}`;
    for (const text of [`@${user.username}`, `@${user.username.toUpperCase()}.`, `a (@${user.username})`])
      assert.deepEqual(hrefsIn(await htmlOf({ text, gfm: true })), [url], text);
    for (const text of [`a@${user.username}`, `\`@${user.username}\``, `@${user.username}x`, "@nobody-of-this-name"])
      assert.deepEqual(hrefsIn(await htmlOf({ text, gfm: true })), [], text);
  });

  test("what the caller may not see stays text, as what is missing does", async () => {
    const { project, group, issue, epic, path, groupPath } = await place({ visibility: VISIBILITIES.public });
    const secret = await links.issue(project, { confidential: true });
    const secretEpic = await links.epic(group, { confidential: true });
    const hidden = await place();
    const stranger = await links.app.makeUser();
    const refer = (items: [string, string, Item][]) =>
      items.map(([of, sign, { iid }]) => `${of}${sign}${iid}`).join(" ");
    const text = refer([
      [path, "#", issue],
      [path, "#", secret],
      [groupPath, "&", epic],
      [groupPath, "&", secretEpic],
      [hidden.path, "#", hidden.issue],
      [hidden.groupPath, "&", hidden.epic],
    ]);
    assert.equal(hrefsIn(await htmlOf({ text, gfm: true })).length, 6);
    const seen = await htmlOf({ text, gfm: true }, stranger);
    assert.deepEqual(hrefsIn(seen), [
      `http://localhost/${path}/-/issues/${issue.iid}`,
      `http://localhost/groups/${groupPath}/-/epics/${epic.iid}`,
    ]);
    for (const { title } of [secret, secretEpic, hidden.issue, hidden.epic]) assert.ok(!seen.includes(title));
    // Short references in a project are judged in the same way.
    assert.deepEqual(hrefsIn(await htmlOf({ text: `#${secret.iid}`, gfm: true, project: path }, stranger)), []);
    const { write } = links.app.services.db;
    await write.updateTable("projects").set({ issues_access_level: "private" }).where("id", "=", project).execute();
    assert.deepEqual(hrefsIn(await htmlOf({ text: `#${issue.iid}`, gfm: true, project: path }, stranger)), []);
  });

  test("a hidden project is answered like a missing one", async () => {
    const { path } = await place();
    const stranger = await links.app.makeUser();
    const hidden = await render({ text: "x", gfm: true, project: path }, stranger);
    const missing = await render({ text: "x", gfm: true, project: "no/such" }, stranger);
    assert.deepEqual([hidden.status, hidden.text], [404, missing.text]);
    assert.deepEqual(hidden.body, { message: "404 Project Not Found" });
  });

  test("more references than are looked up stay text", async () => {
    const text = `${Array.from({ length: 600 }, (_, at) => `@nobody${at}`).join(" ")} @${user.username}`;
    assert.deepEqual(hrefsIn(await htmlOf({ text, gfm: true })), []);
  });

  test("a long text is rendered", async () => {
    const text = "A **long** text with `code`, @people and #12.\n\n".repeat(20_000).slice(0, 500_000);
    const { status, text: answer } = await render({ text, gfm: true });
    assert.equal(status, 201, answer.slice(0, 200));
  });
});
