import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { type Code, codeOf, streamOfCommits, streamOfTag } from "#domains/storage/repositories/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

/** Every request that passes a name to git. */
const PLACES = [
  (name: string) => `/tree?ref=${name}`,
  (name: string) => `/tree?path=${name}`,
  (name: string) => `/tree?path=${name}&recursive=true`,
  (name: string) => `/tree?recursive=true&pagination=keyset&page_token=${name}`,
  (name: string) => `/blobs/${name}`,
  (name: string) => `/blobs/${name}/raw`,
  (name: string) => `/files/${name}?ref=main`,
  (name: string) => `/files/README.md?ref=${name}`,
  (name: string) => `/files/${name}/raw`,
  (name: string) => `/files/${name}/blame`,
  (name: string) => `/files/README.md/blame?range[start]=${name}&range[end]=2`,
  (name: string) => `/branches?search=${name}`,
  (name: string) => `/branches?pagination=keyset&page_token=${name}`,
  (name: string) => `/branches/${name}`,
  (name: string) => `/tags?search=${name}`,
  (name: string) => `/tags?pagination=keyset&page_token=${name}`,
  (name: string) => `/tags/${name}`,
  (name: string) => `/commits?ref_name=${name}`,
  (name: string) => `/commits?path=${name}`,
  (name: string) => `/commits?author=${name}`,
  (name: string) => `/commits?since=${name}`,
  (name: string) => `/commits/${name}`,
  (name: string) => `/commits/${name}/diff`,
  (name: string) => `/commits/${name}/refs`,
  (name: string) => `/commits/${name}/sequence`,
  (name: string) => `/compare?from=${name}&to=main`,
  (name: string) => `/compare?from=main&to=${name}&straight=true`,
  (name: string) => `/merge_base?refs[]=${name}&refs[]=main`,
  (name: string) => `/contributors?ref=${name}`,
  (name: string) => `/archive.tar?sha=${name}`,
  (name: string) => `/archive.tar?path=${name}`,
];

const KNOWN = [
  ...["--output=/tmp/x", "--help", "-n1", "--", "--end-of-options", "--all", "--stdin", "-", "@", "@{-1}", "main@{0}"],
  ...[
    "HEAD^{tree}",
    "main~1",
    "main^2",
    "^main",
    "main..topic",
    "main...topic",
    ":/Begin",
    ":0:README.md",
    "main:docs",
  ],
  ...["../../config", "docs/../README.md", "/etc/passwd", "//", ".", "..", ".git", ".git/config", "docs/", "\\..\\x"],
  ...["refs/heads/main", "refs/heads/", "refs/", "refs/fairlead/x", "HEAD", "FETCH_HEAD", "heads/main", "tags/v1"],
  ...[
    "main\nmain",
    "main\tmain",
    "main\rmain",
    "a b",
    "*",
    "?",
    "[a-z]*",
    ":(glob)**",
    ":!x",
    "$(id)",
    "`id`",
    ";id",
    "|id",
  ],
  ...[
    "0".repeat(40),
    "f".repeat(40),
    "f".repeat(39),
    "0000000",
    "abc",
    "\u{1F600}",
    "\u200E",
    "\uFFFD",
    "é",
    "%00",
    "%2e%2e",
  ],
  ...[
    "x".repeat(1024),
    "x/".repeat(400),
    "/".repeat(3000),
    "main.lock",
    "a//b",
    "a.",
    "~",
    "^",
    "{}",
    "@{upstream}",
    "stash@{0}",
  ],
  ...["999999999999999999999", "-1", "1e400", "NaN", "2020-13-45", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z"],
];

const PIECES = [
  ...KNOWN.filter(({ length }) => length < 20),
  "main",
  "docs",
  "/",
  "README.md",
  "v1",
  "..",
  "@{",
  "^{",
  "}",
  "\n",
  "\0",
];
const mixed = () => Array.from({ length: randomInt(1, 5) }, () => PIECES[randomInt(PIECES.length)]).join("");
/** Random combinations, besides all names that are known to be trouble. */
const MIXED = 15;
const AT_ONCE = 10;

describe("hostile names", () => {
  let app: TestApp;
  let code: Code;
  before(async () => {
    app = await testApp();
    const plans = [{ message: "Begin", files: { "README.md": "# Harbour\n", "docs/x": "x" } }];
    code = await codeOf(app, Buffer.concat([streamOfCommits(plans), streamOfTag("v1", ":1", "One")]));
  });
  after(() => app.close());

  for (const place of PLACES) {
    test(`${place("NAME")} answers without a failure`, async () => {
      const answered = async (name: string) => {
        const { status, text } = await app.get(code.path + place(encodeURIComponent(name)), {
          token: code.owner.token,
        });
        assert.equal(status < 500, true, `${status} for ${JSON.stringify(name)}: ${text.slice(0, 200)}`);
      };
      const names = [...KNOWN, ...Array.from({ length: MIXED }, mixed)];
      for (let at = 0; at < names.length; at += AT_ONCE) await Promise.all(names.slice(at, at + AT_ONCE).map(answered));
      assert.equal((await app.get(`${code.path}/tree`, { token: code.owner.token })).body.length, 2);
    });
  }
});
