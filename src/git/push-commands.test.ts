import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { Refusal } from "#lib/refusal.ts";
import { FLUSH, packet, packetsIn } from "./pkt-line.ts";
import { encodePushRequest, readPushRequest } from "./push-commands.ts";
import { ZERO_ID } from "./refs.ts";

const A = "a".repeat(40);
const B = "b".repeat(40);
const CAPABILITIES = "\0 report-status-v2 side-band-64k object-format=sha1 agent=git/2.39.5";
const MAIN = `${A} ${B} refs/heads/main`;

const read = (...parts: (string | Buffer)[]) =>
  readPushRequest(
    Readable.from(
      parts.map((part) => (typeof part === "string" ? packet(part) : part)),
      { objectMode: false },
    ),
  );
const refuses = (pattern: RegExp, ...parts: (string | Buffer)[]) =>
  assert.rejects(
    read(...parts),
    (error) => error instanceof Refusal && error.kind === "invalid" && pattern.test(error.message),
  );

describe("the commands of a push", () => {
  test("the commands are read and no byte of the pack", async () => {
    const input = Readable.from(
      [
        packet(`shallow ${B}`),
        packet(`${MAIN}${CAPABILITIES}`),
        packet(`${ZERO_ID} ${A} refs/tags/v1\n`),
        FLUSH,
        "PACK",
      ],
      { objectMode: false },
    );
    const request = await readPushRequest(input);
    assert.deepEqual(request, {
      changes: [
        { ref: "refs/heads/main", oldId: A, newId: B },
        { ref: "refs/tags/v1", oldId: ZERO_ID, newId: A },
      ],
      shallow: [B],
      capabilities: { report: true, sideBand: true, quiet: false, atomic: false },
      optionsProblem: undefined,
    });
    assert.equal(await text(input), "PACK");
  });

  test("the list is empty if git only finds out whether it may push", async () => {
    assert.deepEqual((await read(FLUSH)).changes, []);
  });

  test("git receives only our capabilities and no push options", async () => {
    const request = await read(
      `shallow ${B}`,
      `${MAIN}${CAPABILITIES} atomic quiet push-options evil=$(id)`,
      FLUSH,
      "ci.skip",
      "x=$(id)",
      FLUSH,
    );
    assert.equal(request.optionsProblem, undefined);
    assert.deepEqual(packetsIn(encodePushRequest(request, request.changes)).map(String), [
      `shallow ${B}`,
      `${MAIN}\0 report-status side-band-64k object-format=sha1 quiet atomic`,
    ]);
  });

  test("a push has at most 16 options of printable ASCII", async () => {
    const problem = async (...options: (string | Buffer)[]) =>
      (await read(`${MAIN}${CAPABILITIES} push-options`, FLUSH, ...options, FLUSH)).optionsProblem;
    assert.equal(await problem(), undefined);
    assert.equal(await problem(...Array.from({ length: 16 }, () => "x".repeat(1024))), undefined);
    assert.match((await problem(...Array.from({ length: 17 }, () => "x"))) ?? "", /at most 16/);
    for (const option of ["a\nb", "a\0b", "", "é", "\x7f", "\x1b[31m", "x".repeat(1025)]) {
      assert.match((await problem(option)) ?? "", /printable/, JSON.stringify(option));
    }
  });

  test("a malformed list is refused", async () => {
    await refuses(/cut off/);
    await refuses(/cut off/, `${MAIN}${CAPABILITIES}`);
    await refuses(/cut off/, `${MAIN}${CAPABILITIES} push-options`, FLUSH, "ci.skip");
    await refuses(/malformed line/, "", FLUSH);
    await refuses(/malformed line/, `${A} ${B}`, FLUSH);
    await refuses(/malformed line/, `${A.toUpperCase()} ${B} refs/heads/main`, FLUSH);
    await refuses(/malformed line/, `${A} ${B.slice(1)} refs/heads/main`, FLUSH);
    await refuses(/malformed line/, "shallow HEAD", FLUSH);
    await refuses(/malformed line/, MAIN, `shallow ${A}`, FLUSH);
    await refuses(/twice/, MAIN, `${A} ${ZERO_ID} refs/heads/main`, FLUSH);
    await refuses(/does not change/, `${A} ${A} refs/heads/main`, FLUSH);
    await refuses(/does not change/, `${ZERO_ID} ${ZERO_ID} refs/heads/main`, FLUSH);
    await refuses(/SHA-1/, `${MAIN}\0object-format=sha256`, FLUSH);
    await refuses(/signed/, `push-cert\0report-status`, FLUSH);
    await refuses(
      /UTF-8/,
      Buffer.concat([Buffer.from("0067"), Buffer.from(`${A} ${B} refs/heads/caf`), Buffer.of(0xe9)]),
      FLUSH,
    );
  });

  for (const ref of [
    "main",
    "HEAD",
    "refs/heads",
    "refs/heads/../../config",
    "refs/heads/a b",
    "refs/heads/x.lock",
    "refs/heads/a\nb",
    "refs/heads/a\0b",
    "refs/heads/a..b",
    "refs/heads/",
    "refs//heads/x",
    "refs/heads/@{1}",
    "--upload-pack=x",
  ]) {
    test(`${JSON.stringify(ref)} is refused as a ref name`, () =>
      refuses(/invalid ref name/, MAIN, `${A} ${B} ${ref}`, FLUSH));
  }

  test("the number of changes and the size of the list are limited", async () => {
    await refuses(/at most 50000/, ...Array.from({ length: 50_001 }, (_, at) => `${A} ${B} refs/heads/b${at}`), FLUSH);
    const many = packet(`shallow ${A}`);
    await refuses(/too long/, Buffer.concat(Array.from({ length: 330_000 }, () => many)), FLUSH);
  });
});
