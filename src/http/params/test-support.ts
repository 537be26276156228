import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { Refusal } from "#lib/refusal.ts";
import { MULTIPART_LIMITS, readMultipart } from "./multipart.ts";

/** The text of the parameter error that a read ends in, if it does; any other error fails the test. */
export function problemOf(read: () => unknown): string | undefined {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.kind, "invalid");
    return error.details.error;
  }
  return undefined;
}

/** The best of three runs in processor time: neighbours on a busy machine must not fail a test, a slow function must. */
export function assertQuick(run: () => unknown, milliseconds = 100): void {
  const times = [1, 2, 3].map(() => {
    const start = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1_000;
  });
  assert.ok(Math.min(...times) < milliseconds, `${times.join(", ")} ms`);
}

export const FORM_HEADERS = { "content-type": "multipart/form-data; boundary=b" };

/** Texts of which a form consists that is meant to keep its parser busy. */
export const HOSTILE_UNITS = [
  "\r\n--b",
  "--b\r\n",
  "\r\n--b\r\n\r\n",
  "\r\n",
  "-",
  "--b--",
  '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n',
];

export const inChunks = (body: Buffer, size: number) =>
  Readable.from(
    Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
      body.subarray(index * size, (index + 1) * size),
    ),
    { objectMode: false },
  );

export const readForm = (body: Buffer, limits = MULTIPART_LIMITS, size = 65_536) =>
  readMultipart(inChunks(body, size), FORM_HEADERS, limits);
