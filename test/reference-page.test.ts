import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { type Browser, chromium, type Locator, type Page } from "playwright-core";
import { type TestApp, testApp } from "#test/support/app.ts";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
/** Without these the browser looks for hosts of its maker at every start. */
const QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const FLAGS = ["--no-sandbox", ...QUIET, "--disable-component-update", "--disable-sync"];

describe("the reference page in a browser", () => {
  let app: TestApp;
  let browser: Browser;
  let page: Page;
  let site: string;
  let token: string;
  const requested: string[] = [];
  const problems: string[] = [];

  before(async () => {
    assert.ok(existsSync(CHROMIUM), `There is no Chromium at ${CHROMIUM}: install it, or set CHROMIUM to where it is`);
    app = await testApp();
    ({ token } = await app.makeUser());
    await app.app.listen({ host: "127.0.0.1", port: 0 });
    site = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}`;
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    page.on("request", (request) => requested.push(request.url()));
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
    });
    await page.addInitScript(
      `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
        console.error("policy", violatedDirective, blockedURI))`,
    );
    await page.goto(`${site}/`, { waitUntil: "load" });
  });

  after(async () => {
    await browser?.close();
    await app?.close();
  });

  const operation = (path: string): Locator =>
    page.locator(".opblock", { has: page.locator(`[data-path="${path}"]`) }).first();

  /** Opens a resource; all are collapsed at first, since rendering every operation takes a browser many seconds. */
  const openResource = (name: string) => page.locator(`.opblock-tag[data-tag="${name}"]`).click();

  async function tryOut(path: string): Promise<Locator> {
    const block = operation(path);
    await block.locator(".opblock-summary-control").click();
    await block.getByRole("button", { name: "Try it out" }).click();
    await block.getByRole("button", { name: "Execute" }).click();
    const answer = block.locator(".live-responses-table");
    await answer.waitFor();
    return answer;
  }

  test("the root redirects to it, and it shows the operations", async () => {
    assert.equal(page.url(), `${site}/-/api`);
    await openResource("Users");
    await operation("/api/v4/users").waitFor();
    assert.ok(await operation("/api/v4/users").getByText("List users").isVisible());
    assert.match(await page.locator(".opblock-tag-section").first().innerText(), /Users/);
  });

  test("an operation can be tried with a token", async () => {
    await openResource("Version and health");
    const refused = await tryOut("/api/v4/version");
    assert.match(await refused.innerText(), /401 Unauthorized/);
    problems.splice(0, problems.length, ...problems.filter((problem) => !problem.includes("status of 401")));

    await page.getByRole("button", { name: "Authorize" }).first().click();
    const dialog = page.locator(".dialog-ux .auth-container").first();
    await dialog.locator("input").fill(token);
    await dialog.getByRole("button", { name: "Apply credentials" }).click();
    await page.getByRole("button", { name: "Close" }).first().click();

    const block = operation("/api/v4/version");
    await block.getByRole("button", { name: "Execute" }).click();
    const answer = block.locator(".live-responses-table");
    await answer.getByText("fairlead_version").first().waitFor();
    assert.match(await answer.innerText(), /200/);
  });

  test("the first click on the list of users shows users", async () => {
    const answer = await tryOut("/api/v4/users");
    await answer.getByText("avatar_url").first().waitFor();
    assert.match(await answer.innerText(), /200/);
    assert.ok(!requested.some((url) => url.includes("custom_attributes")), "nothing made up was sent");
  });

  test("nothing was loaded from another host, and nothing violated the content security policy", () => {
    const elsewhere = requested.filter((url) => !url.startsWith(`${site}/`) && !/^(data|blob):/.test(url));
    assert.ok(requested.length > 4);
    assert.deepEqual(elsewhere, []);
    assert.deepEqual(problems, []);
  });

  test("a violation of the policy would have been noticed", async () => {
    const breaks = async (script: string, report: string) => {
      const seen = page.waitForEvent("console", (message) => message.text() === report);
      await Promise.all([seen, page.evaluate(script)]);
    };
    await breaks(
      `document.body.append(Object.assign(document.createElement("script"), { text: "1" }))`,
      "policy script-src-elem inline",
    );
    await breaks(`fetch("http://127.0.0.2:9/").catch(() => {})`, "policy connect-src http://127.0.0.2:9/");
    assert.equal(problems.filter((problem) => problem.startsWith("policy ")).length, 2);
  });
});
