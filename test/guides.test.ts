import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { describeSettings } from "#config.ts";
import { fairlead } from "#test/support/command.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const pages = ["README.md", ...globSync("docs/guides/*.md", { cwd: root })].toSorted();

/** What the pages name and `known` does not have, each with its page. */
const unknown = (pattern: RegExp, isKnown: (name: string, page: string) => boolean) =>
  pages.flatMap((page) =>
    Array.from(read(page).matchAll(pattern), ([, name = ""]) => name)
      .filter((name) => !isKnown(name, page))
      .map((name) => `${page}: ${name}`),
  );

/** The anchors that GitHub gives the headings of a page. */
const anchorsOf = (page: string) =>
  Array.from(read(page).matchAll(/^#+ (.+)$/gm), ([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );

describe("the guides", () => {
  test("name only settings that exist", () => {
    const names = new Set(describeSettings().map(({ env }) => env));
    assert.deepEqual(
      unknown(/\b(FAIRLEAD_[A-Z_]*[A-Z])\b/g, (name) => names.has(name)),
      [],
    );
  });

  test("name only commands that exist", async () => {
    const { stdout } = await fairlead(["help"], {});
    const names = new Set(Array.from(stdout.matchAll(/^ {2}([\w-]+) /gm), ([, name]) => name));
    assert.ok(names.has("doctor"));
    assert.deepEqual(
      unknown(/\bbin\/fairlead ([a-z-]+)/g, (name) => names.has(name)),
      [],
    );
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    assert.deepEqual(
      unknown(/\bnpm run ([\w:-]+)/g, (name) => name in scripts),
      [],
    );
  });

  test("name only addresses that exist", () => {
    const paths = new Set(Array.from(read("docs/endpoints.md").matchAll(/`(\/[^`]+)`/g), ([, path]) => path));
    assert.ok(paths.has("/-/health"));
    assert.deepEqual(
      unknown(/`(\/(?:-|api\/v4)\/[^`*? ]+)`/g, (path) => paths.has(path)),
      [],
    );
    assert.deepEqual(
      unknown(/`(?:(?:GET|POST|PUT|PATCH|DELETE) )(\/[\w/:%]+)`/g, (path) => paths.has(`/api/v4${path}`)),
      [],
    );
  });

  test("link only to what is there", () => {
    const broken = unknown(/\]\((?!https?:)([^)]+)\)/g, (link, page) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      return existsSync(join(root, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
    });
    assert.deepEqual(broken, []);
  });
});
