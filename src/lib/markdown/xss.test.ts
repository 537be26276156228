import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type Browser, chromium, type Page } from "playwright-core";
import { renderMarkdown } from "./render.ts";
import { unsafeHtmlOf } from "./parse.ts";
import { XSS_VECTORS } from "./xss-vectors.ts";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const SITE = "https://fairlead.example";

/** Runs in the page: what the browser makes of HTML, without running it. */
const PARSE = `(text) => {
  const { body, head } = new DOMParser().parseFromString(text, "text/html");
  return [head, body].flatMap((root) =>
    [...root.querySelectorAll("*")].map((element) => ({
      name: element.localName,
      attributes: Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value])),
    })),
  );
}`;

/** Runs in the page: sets HTML by a script, sends events to all that is there, and waits for what they cause. */
const USE = `async (text) => {
  const [main, aside] = [document.querySelector("main"), document.querySelector("aside")];
  aside.innerHTML = text;
  const parsed = [main.innerHTML, aside.innerHTML];
  aside.innerHTML = parsed[1];
  for (const node of document.querySelectorAll("main *, aside *")) {
    for (const type of ["focus", "mouseover", "pointerenter", "toggle", "wheel", "animationstart"])
      node.dispatchEvent(new Event(type));
    if (node.localName === "a" ? node.protocol === "javascript:" : typeof node.click === "function") node.click();
  }
  // Errors of images and the like are reported in later turns.
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  return { ran: ranAt !== 0, parsed: [...parsed, aside.innerHTML] };
}`;

/** What rendered HTML may have, stated a second time. */
const ELEMENTS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      ...["h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "br", "div", "summary"],
      ...["dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "caption", "em", "strong", "b", "i", "s", "del"],
      ...["ins", "u", "kbd", "samp", "var", "sub", "sup", "q", "mark", "small", "abbr", "span", "ruby", "rt", "rp"],
      "wbr",
    ].map((name) => [name, []]),
  ),
  a: ["href", "title", "class", "rel"],
  img: ["src", "alt", "title", "width", "height"],
  th: ["align", "colspan", "rowspan"],
  td: ["align", "colspan", "rowspan"],
  ol: ["start"],
  ul: ["class"],
  li: ["class"],
  code: ["class"],
  input: ["type", "class", "disabled", "checked"],
  details: ["open"],
};
const CLASSES = /^(?:gfm( gfm-(issue|epic|project_member))?|task-list(-item(-checkbox)?)?|language-[\w+#.-]+)$/;

const vectors = Object.entries(XSS_VECTORS).flatMap(([kind, texts]) => texts.map((text) => ({ kind, text })));

function htmlOf(text: string): string {
  const rendered = renderMarkdown({ text, site: SITE });
  assert.ok("html" in rendered);
  return rendered.html;
}

/** What is wrong with an element. */
function problemsOf(name: string, attributes: Readonly<Record<string, string>>): string[] {
  const allowed = ELEMENTS[name];
  if (!allowed) return [`<${name}>`];
  return Object.entries(attributes).flatMap(([attribute, value]) => {
    if (!allowed.includes(attribute)) return [`${name} ${attribute}=${value}`];
    if (attribute === "class" && value !== "" && !CLASSES.test(value)) return [`class ${value}`];
    if (attribute === "type" && value !== "checkbox") return [`type ${value}`];
    const protocols = { href: ["http:", "https:", "mailto:"], src: ["http:", "https:"] }[attribute];
    const protocol = protocols ? URL.parse(value, SITE)?.protocol : undefined;
    return protocols && !protocols.includes(protocol ?? "") ? [`${attribute} ${value}`] : [];
  });
}

describe("hostile texts in a browser", () => {
  let browser: Browser;
  let page: Page;
  const requested: string[] = [];

  before(async () => {
    assert.ok(existsSync(CHROMIUM), `There is no Chromium at ${CHROMIUM}: install it, or set CHROMIUM to where it is`);
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
    });
    page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    // Nothing leaves the machine; what a page asks for is recorded.
    await page.route("**/*", (route) => {
      requested.push(route.request().url());
      return route.fulfill({ status: 404, contentType: "text/plain", body: "" });
    });
  });
  after(() => browser?.close());

  interface Element {
    readonly name: string;
    readonly attributes: Record<string, string>;
  }

  /** The elements of HTML, without running it. */
  const parse = (html: string): Promise<Element[]> => page.evaluate(`(${PARSE})(${JSON.stringify(html)})`);
  const problemsIn = async (html: string) =>
    (await parse(html)).flatMap(({ name, attributes }) => problemsOf(name, attributes));

  /**
   * Shows HTML in a page and sets it by a script, through the browser's own serializer and back, and uses it. Returns
   * whether something ran, and all that was parsed.
   */
  async function show(html: string): Promise<{ ran: boolean; parsed: string[] }> {
    const head = `<!doctype html><script>ranAt = 0; function ran() { ranAt++ }</script>`;
    await page.setContent(`${head}<main>${html}</main><aside></aside>`, { waitUntil: "load" });
    return page.evaluate(`(${USE})(${JSON.stringify(html)})`);
  }

  const refuse = async (html: string, text: string) => {
    const { ran, parsed } = await show(html);
    assert.equal(ran, false, text);
    for (const again of [html, ...parsed]) assert.deepEqual(await problemsIn(again), [], `${text} → ${html}`);
  };

  test("there are vectors of every kind, and most of them would have an effect", async () => {
    assert.ok(vectors.length >= 200, String(vectors.length));
    const problems = await Promise.all(vectors.map(({ text }) => problemsIn(unsafeHtmlOf(text))));
    const dangerous = problems.filter(({ length }) => length > 0).length;
    assert.ok(dangerous > 150, `${dangerous} of ${vectors.length}`);
  });

  test("the check itself notices a script", async () => {
    assert.equal((await show("<img src=x onerror=ran()>")).ran, true);
    assert.equal((await show("<svg onload=ran()>")).ran, true);
    assert.equal((await show("<p>x</p>")).ran, false);
  });

  for (const [kind, texts] of Object.entries(XSS_VECTORS)) {
    test(`nothing runs, and nothing but the allowed elements exists: ${kind}`, async () => {
      for (const text of texts) await refuse(htmlOf(text), text);
    });
  }

  test("all of them in one text are as harmless", () =>
    refuse(htmlOf(vectors.map(({ text }) => text).join("\n\n")), "all of them"));

  test("nothing of another host was loaded", () => {
    assert.deepEqual(
      requested.filter((url) => url.includes("evil.example")),
      [],
    );
  });
});
