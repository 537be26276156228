import { tmpdir } from "node:os";
import { join } from "node:path";
import fc, { type Arbitrary } from "fast-check";
import { astral, incompressible, printable } from "./values.ts";

const MARK = "fairlead-fuzz-canary";

/** Files that a name could make git write; git runs in the root directory. */
export const CANARIES: readonly string[] = [join(tmpdir(), MARK), `/${MARK}`];

/** Expressions that git resolves to a commit and callers may not use: no name with one of these may be found. */
export const EXPRESSIONS: readonly string[] = [
  ...["main~1", "main^", "main^{commit}", "HEAD~1", "HEAD^{tree}", "main@{0}", "@", "@{-1}", "main@{upstream}"],
  ...[":/Begin", "main^{/Begin}", ":README.md", "main:README.md", "feature/1..main", "^main", "refs/heads/main~1"],
  ...["--all", "-", "--output=x", "main\n", "main\nmain", "main\0", "refs/heads/main\0"],
];

const NAMES: readonly string[] = [
  ...EXPRESSIONS,
  ...CANARIES.map((path) => `--output=${path}`),
  ...[
    "-o",
    "-n1",
    "--",
    "--end-of-options",
    "--stdin",
    "--help",
    "--exec=id",
    "--upload-pack=id",
    "-c",
    "--git-dir=/tmp",
  ],
  ...[
    "",
    " ",
    ".",
    "..",
    "...",
    "/",
    "//",
    "a//b",
    "/a",
    "a/",
    ".a",
    "a/.b",
    "a.",
    "a.lock",
    "a/b.lock/c",
    "a..b",
    "{}",
  ],
  ...[
    "HEAD",
    "FETCH_HEAD",
    "heads/main",
    "refs",
    "refs/",
    "refs/heads",
    "refs/heads/",
    "refs/heads/main",
    "refs/tags/v0.1",
    "refs/fairlead/x",
  ],
  ...[
    "main/x",
    "feature",
    "feature/0/x",
    "MAIN",
    "Main",
    "main ",
    " main",
    "main\t",
    "main\r\n",
    "main\u0000x",
    "main\u007f",
  ],
  ...[
    "m\u0430in",
    "ma\u0131n",
    "m\u200bain",
    "main\u202e",
    "ｍain",
    "\ufeffmain",
    "u\u0308ni",
    "ün\u0131",
    "main\u2028",
  ],
  ...[
    "\ud800",
    "main\udc00",
    "\udc00\ud800",
    "\ufffd",
    "\ufffe",
    "👩‍👩‍👧‍👦",
    "\u0000",
    "%00",
    "%2e%2e",
    "%2F",
    "\\",
    "a\\b",
    "*",
    "?",
    "[a]",
  ],
  ...["0".repeat(40), "f".repeat(40), "1".repeat(40), "F".repeat(40), "0".repeat(39), "0".repeat(41), "0".repeat(64)],
  ...["0000000", "abcdef", "abcdefg", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "refs/heads/" + "a".repeat(40)],
  ...[
    ".git",
    ".git/config",
    ".GIT/config",
    ".git /x",
    "git~1",
    ".g\u200cit/x",
    "a/.git/hooks/x",
    ".gitmodules",
    ".gitattributes",
  ],
  ...[
    "../x",
    "a/../b",
    "../../../../etc/passwd",
    "/etc/passwd",
    "C:\\x",
    "con",
    "a\nb",
    "a\0b",
    '"a"',
    "a\tb",
    "changes",
    "README.md/x",
  ],
  ...[
    ":(glob)**",
    ":!x",
    ":(exclude)*",
    "$(id)",
    "`id`",
    ";id",
    "|id",
    "a".repeat(244),
    "a".repeat(245),
    "a".repeat(256),
  ],
  ...["a/".repeat(400), "é".repeat(122), "é".repeat(130), "a".repeat(1025), "a".repeat(4097), "a/".repeat(2048)],
  ...[incompressible(255, astral), incompressible(300, printable)],
];

const PIECES = [
  "main",
  "v0.1",
  "docs",
  "README.md",
  "/",
  "..",
  "@{",
  "}",
  "^",
  "~",
  ":",
  "-",
  "\n",
  "\0",
  ".lock",
  ".git",
  " ",
  "é",
  "\ud800",
];

/** Names that a caller may send for a branch, a tag, a commit or a file. */
export const hostileName: Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...NAMES), weight: 6 },
  {
    arbitrary: fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 5 }).map((parts) => parts.join("")),
    weight: 2,
  },
  { arbitrary: fc.string({ unit: "binary", maxLength: 30 }), weight: 1 },
);

const content = fc.constantFrom<unknown>(
  "text\n",
  "",
  "\0",
  "\ud800",
  "a".repeat(100_000),
  null,
  1,
  "====",
  "%%%",
  [],
  {},
);

/** Actions of a commit with an invalid part. */
export const hostileActions: Arbitrary<unknown> = fc.array(
  fc.record(
    {
      action: fc.constantFrom<unknown>("create", "update", "delete", "move", "chmod", "", null, "CREATE"),
      file_path: fc.oneof(
        hostileName,
        fc.constantFrom("README.md", "docs", "docs/guide.md", "new.txt", "new.txt/below"),
      ),
      previous_path: fc.oneof(hostileName, fc.constantFrom("README.md", "new.txt", "docs")),
      content,
      encoding: fc.constantFrom<unknown>("text", "base64", "utf-16", null),
      execute_filemode: fc.constantFrom<unknown>(true, false, "yes", null),
      last_commit_id: hostileName,
    },
    { requiredKeys: ["action", "file_path"] },
  ),
  { maxLength: 4 },
);
