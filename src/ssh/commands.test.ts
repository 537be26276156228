import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readGitCommand } from "./commands.ts";

describe("commands over SSH", () => {
  it("are those that git and JGit send", () => {
    for (const [text, service, path] of [
      ["git-upload-pack 'harbour/crane.git'", "upload-pack", "harbour/crane"],
      ["git-upload-pack '/harbour/crane.git'", "upload-pack", "harbour/crane"],
      ["git-upload-pack '/harbour/crane.git/'", "upload-pack", "harbour/crane"],
      ["git upload-pack 'harbour/crane.git'", "upload-pack", "harbour/crane"],
      ["git-receive-pack 'harbour/crane'", "receive-pack", "harbour/crane"],
      ["git-receive-pack harbour/deep/crane.git", "receive-pack", "harbour/deep/crane"],
      ["git-upload-pack 'it'\\''s/a'\\!'.git'", "upload-pack", "it's/a!"],
      ["git-upload-pack 'a b/c.git'", "upload-pack", "a b/c"],
    ] as const) {
      assert.deepEqual(readGitCommand(text), { service, path }, text);
    }
  });

  it("no other text is accepted", () => {
    for (const text of [
      "",
      "ls",
      "git-upload-pack",
      "git-upload-pack ",
      "git-upload-pack ''",
      "git-upload-pack '/'",
      "git-upload-pack '.git'",
      "git-upload-pack  'a/b'",
      " git-upload-pack 'a/b'",
      "git-upload-pack 'a/b' ",
      "git-upload-pack 'a/b'\n",
      "git-upload-pack 'a/b'; id",
      "git-upload-pack 'a/b' 'c/d'",
      "git-upload-pack 'a/b",
      "git-upload-pack 'a'b'c'",
      "git-upload-pack 'a\\b'",
      "git-upload-pack $(id)",
      "git-upload-pack `id`",
      "git-upload-pack a/b;id",
      "git-upload-pack a/b&id",
      "git-upload-pack --strict 'a/b'",
      "git-upload-archive 'a/b'",
      "git-lfs-authenticate a/b download",
      "GIT-UPLOAD-PACK 'a/b'",
      "/usr/bin/git-upload-pack 'a/b'",
      "git-upload-packs 'a/b'",
      "git-shell -c id",
      `git-upload-pack '${"a/".repeat(3000)}'`,
    ]) {
      assert.equal(readGitCommand(text), undefined, text);
    }
  });

  it("of 100,000 random texts, an accepted one is one service and one path", () => {
    const parts = [
      "git",
      "-",
      " ",
      "upload-pack",
      "receive-pack",
      "'",
      "\\",
      "!",
      "a/b",
      ".git",
      ";",
      "$(id)",
      "\n",
      "/",
    ];
    let seed = 7;
    const next = (most: number) => {
      for (const shift of [13, -17, 5]) seed ^= shift > 0 ? seed << shift : seed >>> -shift;
      return (seed >>> 0) % most;
    };
    let understood = 0;
    for (let round = 0; round < 100_000; round++) {
      const begin = next(2) === 0 ? "git-upload-pack '" : "";
      const text = begin + Array.from({ length: next(8) }, () => parts[next(parts.length)]).join("");
      const command = readGitCommand(text);
      if (!command) continue;
      understood++;
      assert.match(text, /^git[- ](upload|receive)-pack \S/, text);
      // A shell would split it into the same two words.
      const words = text.replace(/^git /, "git-").slice("git-".length + command.service.length + 1);
      const path = words.startsWith("'") ? words.slice(1, -1).replaceAll(/'\\([!'])'/g, "$1") : words;
      assert.equal(
        path
          .replace(/^\//, "")
          .replace(/\/$/, "")
          .replace(/\.git$/, ""),
        command.path,
        text,
      );
      assert.ok(words.startsWith("'") || /^[\w./-]+$/.test(words), text);
    }
    assert.ok(understood > 100, `only ${understood}`);
  });
});
