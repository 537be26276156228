import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import { EARLY_PLANTS, PLANTS } from "./plants.ts";

/** What of the report each defect must be told by; a run that is red for another reason proves nothing. */
const TOLD_BY: Readonly<Record<string, RegExp>> = {
  "nul-into-sql": /personalAccessTokens\.createForUser: status 500: invalid byte sequence for encoding "UTFN": NxN/,
  "big-id": /personalAccessTokens\.get: status 500: value .* is out of range for type bigint/,
  "late-date": /users\.list: status 500: timestamp out of range/,
  "huge-number": /personalAccessTokens\.list: status 500: value overflows numeric format/,
  "long-key": /personalAccessTokens\.createOwn: status 500: index row size N exceeds/,
  "big-ids": /groupMembers\.add: status 500: value .* is out of range for type bigint/,
  "long-address": /groups\.get: status 500: planted/,
  "wrong-place": /a group is not below its parent/,
  "silent-write": /projects\.share: status 304 for a write/,
  throw: /users\.list: status 500: planted/,
  "leak-password": /users\.create: a password is in the answer/,
  "leak-token": /versions\.version: a token of a caller is in the answer/,
  "log-password": /the log holds a secret/,
  "leak-session": /sessions\.list: a digest is in the answer/,
  "secret-again": /userStatuses\.getOwn: a secret that another answer made is in the answer/,
  "stray-cookie": /keys\.listOwn: a cookie where no session begins or ends/,
  "log-link": /the log holds a mailed link/,
  "cookie-alone": /a caller who proves nothing is taken for a user/,
  "wrong-shape": /users\.current: the answer does not fit its schema/,
  "extra-field": /personalAccessTokens\.getSelf: the answer does not fit its schema: \/token_digest/,
  "wrong-type": /versions\.metadata: type text\/html instead of application\/json/,
  "wrong-status": /personalAccessTokens\.rotateSelf: status 201 instead of 200/,
  "newline-in-ref": /trees\.list: status 500: planted/,
  "expression-to-git": /commits\.get: what names nothing is taken for a name/,
  "path-in-error": /archives\.getZip: a path of the disk is in the answer/,
  "left-push": /a push is left that nobody settles/,
  "left-process": /a git process is left/,
  "broken-object": /a repository is damaged/,
  "file-beside": /planted is written beside the repositories/,
  unhandled: /unhandled rejection: planted/,
  pollute: /a prototype was changed/,
  block: /users\.list: blocks the event loop/,
  slow: /users\.list: slower than 1 s/,
  hang: /a process hangs/,
};

/** The operations that have defects planted in them; the others would only take time. */
const PLANTED =
  "^(users.(list|current|create)|personalAccessTokens|versions|health|groupMembers.add|groups.(get|transfer)|" +
  "projects.share|sessions.list|secondFactors.begin|userStatuses.getOwn|keys.listOwn|accounts.confirmPage|" +
  "trees.list|commits.get|archives.getZip|branches.create|tags.create)";

async function fuzz(...options: string[]) {
  const child = spawn(
    process.execPath,
    [...process.execArgv.filter((flag) => !flag.startsWith("--test")), join(import.meta.dirname, "run.ts"), ...options],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, [POSTGRES_VARIABLE]: postgres },
    },
  );
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  const lines = Buffer.concat(chunks).toString("utf8").trimEnd().split("\n");
  const causes = lines.filter((line) => line.startsWith("FAILED ")).join("\n");
  return { code, causes, last: lines.at(-1) ?? "", text: lines.join("\n") };
}

let postgres = "";
before(async () => {
  postgres = process.env[POSTGRES_VARIABLE] ?? (await startTestPostgres());
});

const isRed = ({ code, last }: Awaited<ReturnType<typeof fuzz>>) =>
  code === 1 && /^fuzz: \d+ passed, [1-9]\d* failed$/.test(last);

describe("The fuzzer", { concurrency: true }, () => {
  // They are planted together, each where it hides no other, because starting takes longer than finding.
  test("finds every planted defect", async (t) => {
    const names = [...Object.keys(PLANTS), ...Object.keys(EARLY_PLANTS)].filter((name) => name !== "hang");
    const report = await fuzz("--cases", "3500", "--seed", "1", "--operations", PLANTED, "--plant", names.join(","));
    assert.ok(isRed(report), report.text);
    for (const name of names) await t.test(name, () => assert.match(report.causes, TOLD_BY[name] ?? /$^/));
  });

  test("finds an endless loop", async () => {
    const report = await fuzz("--operations", "users.list", "--seed", "1", "--plant", "hang");
    assert.ok(isRed(report), report.text);
    assert.match(report.causes, TOLD_BY["hang"] ?? /$^/);
  });

  test("finds nothing in what is served", async () => {
    const { code, last, text } = await fuzz("--cases", "1000", "--seed", "1", "--operations", PLANTED);
    assert.match(last, /^fuzz: \d{3,} passed, 0 failed$/, text);
    assert.equal(code, 0);
  });

  test("refuses a plant that it does not know", async () => {
    const { code } = await fuzz("--plant", "no-such-plant");
    assert.notEqual(code, 0);
  });
});
