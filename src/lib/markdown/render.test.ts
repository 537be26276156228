import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown } from "./render.ts";

const SITE = "https://fairlead.example";

function htmlOf(text: string): string {
  const rendered = renderMarkdown({ text, site: SITE });
  assert.ok("html" in rendered);
  return rendered.html.trim();
}

test("the elements of Markdown", () => {
  for (const [text, html] of [
    [
      "# One\n\nTwo *three* **four** ~~five~~ `six`",
      "<h1>One</h1>\n<p>Two <em>three</em> <strong>four</strong> <s>five</s> <code>six</code></p>",
    ],
    ["- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"],
    ["3. a", '<ol start="3">\n<li>a</li>\n</ol>'],
    ["> a", "<blockquote>\n<p>a</p>\n</blockquote>"],
    ["```ts\na < b\n```", '<pre><code class="language-ts">a &lt; b\n</code></pre>'],
    ["a\\\nb", "<p>a<br />\nb</p>"],
    ["<details><summary>a</summary>b</details>", "<details><summary>a</summary>b</details>"],
    ["H<sub>2</sub>O <kbd>x</kbd>", "<p>H<sub>2</sub>O <kbd>x</kbd></p>"],
    ["", ""],
  ] as const)
    assert.equal(htmlOf(text), html, text);
});

test("tables with their alignment", () => {
  const html = htmlOf("| a | b | c |\n|---|:-:|--:|\n| 1 | 2 | 3 |");
  assert.match(html, /<th>a<\/th>\s*<th align="center">b<\/th>\s*<th align="right">c<\/th>/);
  assert.match(html, /<td align="right">3<\/td>/);
  assert.doesNotMatch(html, /style/);
});

test("task lists", () => {
  const html = htmlOf("- [ ] a\n- [x] b\n- c\n- [y] d");
  assert.match(html, /<ul class="task-list">/);
  assert.match(
    html,
    /<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" disabled(="")? \/> a<\/li>/,
  );
  assert.match(html, /checked(="")? \/> b<\/li>/);
  assert.match(html, /<li>c<\/li>\s*<li>\[y\] d<\/li>/);
});

test("links to elsewhere tell nothing to the target, and count nothing for it", () => {
  const rel = 'rel="nofollow noreferrer noopener"';
  for (const href of [
    "https://example.com/a",
    "//example.com/a",
    "/\\example.com",
    "https://fairlead.example.com/",
    "mailto:a@example.com",
    "http://fairlead.example:81/",
  ])
    assert.ok(htmlOf(`<a href="${href}" rel="opener">x</a>`).includes(rel), href);
  for (const href of ["/a", "a/b?c=d#e", "#top", "https://fairlead.example/x"])
    assert.equal(htmlOf(`[x](${href})`), `<p><a href="${href}">x</a></p>`);
  assert.ok(htmlOf("https://example.com/a").includes(`<a href="https://example.com/a" ${rel}>`));
});

test("a name with a dot is no link, an address of the web or of mail is one", () => {
  assert.equal(htmlOf("README.md"), "<p>README.md</p>");
  assert.match(htmlOf("see http://example.com/x."), /href="http:\/\/example.com\/x"/);
  assert.match(htmlOf("a@example.com"), /href="mailto:a@example.com"/);
});

const textLinks = {
  pattern: /@\w+/gu,
  links: new Map([
    ["@anna", { href: `${SITE}/anna`, title: 'A "quoted" <name>', className: "gfm gfm-project_member" }],
  ]),
};
const linked = (text: string) => {
  const rendered = renderMarkdown({ text, site: SITE, textLinks });
  return "html" in rendered ? rendered.html.trim() : "";
};

test("texts become links, but not in code and in other links", () => {
  const link = `<a href="${SITE}/anna" class="gfm gfm-project_member" title="A &quot;quoted&quot; &lt;name&gt;">@anna</a>`;
  assert.equal(linked("Hello @anna, @bert and @anna"), `<p>Hello ${link}, @bert and ${link}</p>`);
  assert.equal(linked("**@anna**"), `<p><strong>${link}</strong></p>`);
  for (const text of [
    "`@anna`",
    "```\n@anna\n```",
    "    @anna",
    "[@anna](/x)",
    "<a href='/x'>@anna</a>",
    "<code>@anna</code>",
    "![@anna](/x)",
  ])
    assert.ok(!linked(text).includes('/anna"'), text);
  assert.equal(linked("<code>x</code> @anna"), `<p><code>x</code> ${link}</p>`);
});

test("a definition that is long and used often is refused, instead of filling the memory", () => {
  const text = `[x]: /${"u".repeat(100_000)}\n\n${"[x] ".repeat(100_000)}`;
  assert.deepEqual(renderMarkdown({ text, site: SITE }), { problem: "too large" });
});
