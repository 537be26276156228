import { Readable } from "node:stream";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

export const RATE = { minBytes: 16 * 1024, windowMs: 600 };
export const UNSENT_BYTES = 32 * 1024 * 1024;
const Text = Type.Object({ text: Type.String() });
const params = Type.Object({ bytes: Type.Integer() });
export const HEARTBEAT = ":\n\n";
export const HEARTBEAT_MS = 20;

const answers = {
  read: endpoint({
    method: "GET",
    path: "/answers/:bytes",
    summary: "Get an answer of any size",
    access: anyone(),
    params,
    returns: Text,
    handle: ({ params: { bytes } }) => ({ text: "x".repeat(bytes) }),
  }),
  write: endpoint({
    method: "POST",
    path: "/answers/:bytes",
    summary: "Write, and get an answer of any size",
    access: anyone(),
    params,
    returns: Text,
    audit: "answered",
    handle: ({ params: { bytes } }) => ({ text: "x".repeat(bytes) }),
  }),
  reserved: endpoint({
    method: "GET",
    path: "/reserved/:bytes",
    summary: "Reserve more than the answer needs",
    access: anyone(),
    params,
    returns: Text,
    handle({ params: { bytes }, reserveMemory }) {
      reserveMemory(bytes);
      return { text: "small" };
    },
  }),
  events: endpoint({
    method: "GET",
    path: "/answers/events",
    summary: "Get a stream without an end",
    access: anyone(),
    params: Type.Object({}),
    returns: plain("text/event-stream"),
    longLived: { maxConnections: 2, heartbeatMs: HEARTBEAT_MS, heartbeat: HEARTBEAT },
    handle: () => new Readable({ read() {} }),
  }),
};

/** An application with answers of any size, which ends connections below this rate. */
export const appWith = (minTransferRate: typeof RATE): Promise<TestApp> =>
  testApp({
    resources: { answers },
    env: { FAIRLEAD_MAX_UNSENT_BYTES: String(UNSENT_BYTES) },
    options: { minTransferRate },
  });
