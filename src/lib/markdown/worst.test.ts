import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown } from "./render.ts";
import { WORST } from "./test-support.ts";

for (const [name, make] of Object.entries(WORST))
  test(`a text made for a careless parser is rendered: ${name}`, () =>
    assert.notEqual(renderMarkdown({ text: make(32_768), site: "https://fairlead.example" }), ""));
