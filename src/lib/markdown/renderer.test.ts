import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { consumerOf } from "#lib/consumer.ts";
import { type MarkdownRenderer, openMarkdown, type RendererLimits } from "./renderer.ts";

const SITE = "https://fairlead.example";
const ANNA = consumerOf("192.0.2.1", "user 1");
const BERT = consumerOf("192.0.2.2", "user 2");

/** A text of many elements, which takes long. */
const LONG = "- a *b* [c](/d) <b>e</b>\n".repeat(40_000);

describe("rendering in threads", () => {
  const opened: MarkdownRenderer[] = [];
  after(() => Promise.all(opened.map((renderer) => renderer.close())));
  const open = (limits: RendererLimits) => {
    const renderer = openMarkdown(limits);
    opened.push(renderer);
    return renderer;
  };

  test("one thread renders texts one after another", async () => {
    const renderer = open({ threads: 1 });
    const texts = await Promise.all(["a", "b", "c"].map((text) => renderer.render({ text, site: SITE }, ANNA)));
    assert.deepEqual(texts, ["<p>a</p>\n", "<p>b</p>\n", "<p>c</p>\n"]);
  });

  test("a text that takes too long is refused, and the next one is rendered", async () => {
    const renderer = open({ threads: 1, maxRenderMs: 1 });
    await assert.rejects(renderer.render({ text: LONG, site: SITE }, ANNA), /422|too long to render/);
    const patient = open({ threads: 1 });
    assert.equal(await patient.render({ text: "a", site: SITE }, ANNA), "<p>a</p>\n");
    await assert.rejects(renderer.render({ text: LONG, site: SITE }, BERT), /too long to render/);
  });

  test("one caller has a limited number of texts waiting, and others are still served", async () => {
    const renderer = open({ threads: 1 });
    const all = Array.from({ length: 20 }, () => renderer.render({ text: LONG.slice(0, 25_000), site: SITE }, ANNA));
    const other = renderer.render({ text: "b", site: SITE }, BERT);
    const settled = Promise.allSettled(all);
    assert.equal(await other, "<p>b</p>\n");
    const refused = (await settled).filter(({ status }) => status === "rejected");
    assert.equal(refused.length, 11);
  });
});
