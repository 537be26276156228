import { readFileSync } from "node:fs";
import fastify from "fastify";

/** The least that such a server can do: send one value from memory to everyone. */
const [, , path = "/", file = "", port = "0"] = process.argv;
const value: unknown = JSON.parse(readFileSync(file, "utf8"));
const app = fastify();

app.get("/-/readiness", async () => ({}));
// An object is serialized by a function generated for its fields; for an array JSON.stringify is as fast.
if (Array.isArray(value)) app.get(path, async () => value);
else app.get(path, { schema: { response: { 200: shapeOf(value) } } }, async () => value);
process.once("SIGTERM", () => process.exit(0));
await app.listen({ host: "127.0.0.1", port: Number(port) });

function shapeOf(sample: unknown): object {
  if (sample === null) return { type: "null" };
  if (Array.isArray(sample)) return { type: "array", items: sample.length > 0 ? shapeOf(sample[0]) : {} };
  if (typeof sample === "object") {
    const properties = Object.fromEntries(Object.entries(sample).map(([name, part]) => [name, shapeOf(part)]));
    return { type: "object", properties };
  }
  return { type: typeof sample === "number" && Number.isInteger(sample) ? "integer" : typeof sample };
}
