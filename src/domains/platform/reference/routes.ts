import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import Type from "typebox";
import { anyone } from "#access/access.ts";
import { operationsOf, type Resources } from "#http/app.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { openApiOf } from "#http/openapi.ts";
import { missing } from "#lib/refusal.ts";
import { PAGE, POLICY, START } from "./page.ts";
import { SUBJECTS } from "./subjects.ts";

const HOME = "/-/api";

interface StaticFile {
  readonly body: Buffer;
  readonly etag: string;
}

/** The reference of all resources, including itself. */
export function referenceOf(resources: () => Resources) {
  const send = fileCache();
  const common = { method: "GET", mount: "root", access: anyone(), params: Type.Object({}) } as const;
  return {
    home: endpoint({
      ...common,
      path: "/",
      summary: "Redirect to the API reference",
      status: 302,
      returns: plain("text/plain"),
      handle({ setHeader }) {
        setHeader("location", HOME);
        return `See ${HOME}\n`;
      },
    }),

    page: endpoint({
      ...common,
      path: HOME,
      summary: "Read and try the API in a browser",
      returns: plain("text/html; charset=utf-8"),
      handle({ setHeader }) {
        setHeader("content-security-policy", POLICY);
        return send("index.html", () => PAGE, setHeader);
      },
    }),

    document: endpoint({
      ...common,
      path: "/-/api/openapi.json",
      summary: "Get the OpenAPI document of this API",
      returns: plain("application/json"),
      handle: ({ setHeader }) =>
        send("openapi.json", () => JSON.stringify(openApiOf(operationsOf(resources()), SUBJECTS)), setHeader),
    }),

    file: endpoint({
      ...common,
      path: "/-/api/:file",
      summary: "Get a file of the reference page",
      params: Type.Object({ file: Type.String({ maxLength: 255 }) }),
      returns: plain("*/*"),
      async handle({ params, setHeader }) {
        const file = FILES.get(params.file);
        if (!file) throw missing();
        const body = await send(params.file, file.read, setHeader);
        setHeader("content-type", file.type);
        return body;
      },
    }),
  };
}

/** Creates the function that sends a file; each is built or read on first use. */
function fileCache() {
  const files = new Map<string, Promise<StaticFile>>();
  return async (
    name: string,
    read: () => string | Promise<Buffer>,
    setHeader: (name: string, value: string) => void,
  ) => {
    const file = files.get(name) ?? staticFile(read);
    files.set(name, file);
    const { body, etag } = await file;
    setHeader("etag", etag);
    setHeader("cache-control", "no-cache");
    return body;
  };
}

async function staticFile(read: () => string | Promise<Buffer>): Promise<StaticFile> {
  // A string would be encoded again for every response.
  const body = Buffer.from(await read());
  return { body, etag: `W/"${hash("sha256", body, "hex").slice(0, 32)}"` };
}

const ofSwaggerUi = (name: string) => () =>
  readFile(new URL(name, import.meta.resolve("swagger-ui-dist/package.json")));

/** The files that the page loads; nothing else of the package is served. */
const FILES: ReadonlyMap<string, { type: string; read: () => string | Promise<Buffer> }> = new Map([
  ["start.js", { type: "text/javascript; charset=utf-8", read: () => START }],
  ["swagger-ui-bundle.js", { type: "text/javascript; charset=utf-8", read: ofSwaggerUi("swagger-ui-bundle.js") }],
  ["swagger-ui.css", { type: "text/css; charset=utf-8", read: ofSwaggerUi("swagger-ui.css") }],
  ["favicon-32x32.png", { type: "image/png", read: ofSwaggerUi("favicon-32x32.png") }],
]);
