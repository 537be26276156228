import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import { PLANTS } from "./plants.ts";

/** What of the report each defect must be told by; a run that is red for another reason proves nothing. */
const TOLD_BY: Readonly<Record<keyof typeof PLANTS, RegExp>> = {
  "nul-into-sql": /users\.create: status 500: invalid byte sequence for encoding "UTFN": NxN/,
  "big-id": /personalAccessTokens\.get: status 500: value .* is out of range for type bigint/,
  "late-date": /users\.list: status 500: timestamp out of range/,
  "huge-number": /personalAccessTokens\.list: status 500: value overflows numeric format/,
  "long-key": /personalAccessTokens\.createOwn: status 500: index row size N exceeds/,
  throw: /users\.list: status 500: planted/,
  "leak-password": /users\.create: a password is in the answer/,
  "leak-token": /versions\.version: a token of a caller is in the answer/,
  "log-password": /the log holds a secret/,
  "wrong-shape": /users\.current: the answer does not fit its schema: \/locked/,
  "extra-field": /personalAccessTokens\.getSelf: the answer does not fit its schema: \/token_digest/,
  "wrong-type": /versions\.metadata: type text\/html instead of application\/json/,
  "wrong-status": /personalAccessTokens\.createOwn: status 200 instead of 201/,
  unhandled: /unhandled rejection: planted/,
  pollute: /a prototype was changed/,
  block: /users\.list: blocks the event loop/,
  slow: /users\.list: slower than 1 s/,
  hang: /a process hangs/,
};

async function fuzz(...options: string[]) {
  const child = spawn(process.execPath, [...process.execArgv.filter((flag) => !flag.startsWith("--test")), join(import.meta.dirname, "run.ts"), ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, [POSTGRES_VARIABLE]: postgres },
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  const lines = Buffer.concat(chunks).toString("utf8").trimEnd().split("\n");
  return { code, last: lines.at(-1) ?? "", text: lines.join("\n") };
}

let postgres = "";
before(async () => {
  postgres = process.env[POSTGRES_VARIABLE] ?? (await startTestPostgres());
});

describe("The fuzzer", () => {
  for (const name of Object.keys(PLANTS)) {
    test(`finds the planted defect ${name}`, async () => {
      const { code, last, text } = await fuzz("--cases", "6000", "--seed", "1", "--plant", name);
      assert.match(text, TOLD_BY[name] ?? /$^/);
      assert.match(last, /^fuzz: \d+ passed, [1-9]\d* failed$/);
      assert.equal(code, 1);
    });
  }

  test("finds nothing in what is served", async () => {
    const { code, last, text } = await fuzz("--cases", "2000", "--seed", "1");
    assert.match(last, /^fuzz: \d{4} passed, 0 failed$/, text);
    assert.equal(code, 0);
  });

  test("refuses a plant that it does not know", async () => {
    const { code } = await fuzz("--plant", "no-such-plant");
    assert.notEqual(code, 0);
  });
});
