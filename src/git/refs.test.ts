import assert from "node:assert/strict";
import { test } from "node:test";
import { git } from "#test/support/git.ts";
import { isObjectId, isRefName, ZERO_ID } from "./refs.ts";

test("a ref name is valid if git accepts it", async () => {
  const pieces = [
    "a",
    ".",
    "..",
    "/",
    "//",
    "@",
    "@{",
    "~",
    "^",
    ":",
    "?",
    "*",
    "[",
    "\\",
    " ",
    "\t",
    "\u007F",
    "é",
    "-",
  ];
  const names = [
    ...pieces.flatMap((piece) => [`refs/heads/${piece}`, `refs/heads/x${piece}y`, `refs/heads/x${piece}`]),
    ...["refs/heads", "refs/heads/", "refs/x", "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads/a.locked"],
    ...["refs/heads/HEAD", "refs/heads/refs/heads/a", "refs/tags/v1.0", "refs/fairlead/keep", "refs/heads/./a"],
  ];
  for (const name of names) {
    const { code } = await git(["check-ref-format", name], { cwd: "/" });
    const isValid = name.split("/").length >= 3 && code === 0;
    assert.equal(isRefName(name), isValid, JSON.stringify(name));
  }
  for (const name of ["", "HEAD", "heads/main", "main", "/refs/heads/main", `refs/heads/${"a".repeat(1100)}`]) {
    assert.equal(isRefName(name), false, name);
  }
});

test("an object id is forty hexadecimal digits, the zero id included", () => {
  assert.ok(isObjectId(ZERO_ID));
  for (const text of ["", "a".repeat(39), "a".repeat(41), "A".repeat(40), `${"a".repeat(40)}\n`, "g".repeat(40)]) {
    assert.equal(isObjectId(text), false, text);
  }
});
