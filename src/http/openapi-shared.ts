import type { Json } from "./openapi-schema.ts";

/** The parts of the document that all operations share. */

export const ABOUT = `
Parameters may be in the query or in the body of any request, whichever is shown here. Lists are sent as
\`name[]=a&name[]=b\`, hashes as \`name[key]=value\`; bodies may be JSON or forms. A parameter that an endpoint
does not have is ignored, and the header \`X-Ignored-Parameters\` names it.

Each request carries a token in the header \`PRIVATE-TOKEN\`, as \`Authorization: Bearer\`, or as the parameter
\`private_token\` or \`access_token\`. An administrator whose token has the scope \`sudo\` may act for another user.

Lists are paged: \`page\` and \`per_page\` (20 by default, 100 at most), and the header \`Link\` has the other pages.

Every response carries \`X-Request-Id\`; under a rate limit also \`RateLimit-Limit\`, \`RateLimit-Remaining\` and
\`RateLimit-Reset\`.
`.trim();

const text = { type: "string" };

/** Every refusal has one of five shapes. */
const ERROR: Json = {
  description: "Why a request was refused",
  anyOf: [
    { title: "message", type: "object", properties: { message: text }, required: ["message"] },
    {
      title: "problems of fields",
      type: "object",
      properties: {
        message: { type: "object", additionalProperties: { type: "array", items: text } },
      },
      required: ["message"],
    },
    {
      title: "limit of one endpoint",
      type: "object",
      properties: { message: { type: "object", properties: { error: text }, required: ["error"] } },
      required: ["message"],
    },
    { title: "problem of parameters or address", type: "object", properties: { error: text }, required: ["error"] },
    {
      title: "problem of the token",
      type: "object",
      properties: { error: text, error_description: text, scope: text },
      required: ["error", "error_description"],
    },
  ],
};

const refusal = (description: string, example: Json, headers: readonly string[] = []): Json => ({
  description,
  ...(headers.length > 0 && { headers: headerRefs(headers) }),
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" }, example } },
});

const MOVED = "This resource has been moved permanently to https://example.com/api/v4/projects/42";
const WAITING_HEADERS = ["Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
export const PAGING_HEADERS = [
  "Link",
  "X-Page",
  "X-Per-Page",
  "X-Next-Page",
  "X-Prev-Page",
  "X-Total",
  "X-Total-Pages",
];

const header = (description: string, type = "string"): Json => ({ description, schema: { type } });
export const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const SECURITY_SCHEMES: Json = {
  privateToken: {
    type: "apiKey",
    in: "header",
    name: "PRIVATE-TOKEN",
    description: "A token in a header of its own",
  },
  bearer: { type: "http", scheme: "bearer", description: "A token as `Authorization: Bearer`" },
  basic: { type: "http", scheme: "basic", description: "For git: any user name, and a token as the password" },
  privateTokenParameter: {
    type: "apiKey",
    in: "query",
    name: "private_token",
    description: "A token as a parameter; a header is better, because proxies log URLs",
  },
  accessTokenParameter: {
    type: "apiKey",
    in: "query",
    name: "access_token",
    description: "The same by the name that OAuth clients use",
  },
};

/** Redirects and refusals by their status, or by what they are of. */
const RESPONSES: Json = {
  "301": refusal("It was renamed or moved", { message: MOVED }, ["Location"]),
  "304": { description: "It is so already" },
  fresh: { description: "The client has this version, as `If-None-Match` says" },
  "308": refusal("It was renamed or moved; repeat the request there", { message: MOVED }, ["Location"]),
  "400": refusal("A parameter is missing or wrong, or the change is refused", { error: "name is missing" }),
  "401": refusal("The token is missing or not valid", { message: "401 Unauthorized" }, ["WWW-Authenticate"]),
  "403": refusal("The caller or the scopes of the token do not suffice", { message: "403 Forbidden" }),
  "404": refusal("It does not exist, or the caller may not see it", { message: "404 Not Found" }),
  "409": refusal("It exists already, or its state does not permit the change", { message: "409 Conflict" }),
  "412": refusal("It changed after the time in `If-Unmodified-Since`", { message: "412 Precondition Failed" }),
  "414": refusal("The path and query are too long; send parameters in the body", {
    error: "414 Request-URI Too Large",
  }),
  "422": refusal("A limit or rule refuses the change, or the idempotency key belongs to another request", {
    message: "422 Unprocessable Entity",
  }),
  "429": refusal("Too many requests in this minute", { message: "429 Too Many Requests" }, WAITING_HEADERS),
  "503": refusal("Not now; try again later", { message: "503 Service Unavailable" }, ["Retry-After"]),
  git: { description: "Refused; git shows the text to people", content: { "text/plain": { schema: text } } },
  default: refusal("Refused for another reason, which the status names", { error: "413 Request Entity Too Large" }),
};

export const sharedComponents = (schemas: Json): Json => ({
  schemas: { ...schemas, Error: ERROR },
  parameters: {
    sudo: {
      name: "sudo",
      in: "query",
      description: "Id or username of the user to act for; for administrators whose token has the scope `sudo`",
      schema: text,
    },
    idempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      description:
        "A name of the caller's choice for this request. If it is repeated with the same name and token within ten " +
        "minutes, it gets the same response and nothing is done twice; another request with the name is refused with 422",
      schema: { ...text, minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
    },
    ifUnmodifiedSince: {
      name: "If-Unmodified-Since",
      in: "header",
      description: "An HTTP date; what changed after it is not deleted",
      schema: text,
    },
  },
  headers: {
    "X-Request-Id": header("The id of this request in the log"),
    Link: header("Links to other pages, by `rel`: prev, next, first, last"),
    "X-Page": header("This page", "integer"),
    "X-Per-Page": header("Items a page", "integer"),
    "X-Next-Page": header("The next page; empty on the last"),
    "X-Prev-Page": header("The previous page; empty on the first"),
    "X-Total": header("Items in all, left out where there are very many", "integer"),
    "X-Total-Pages": header("Pages in all, left out where there are very many", "integer"),
    "RateLimit-Limit": header("Requests allowed a minute", "integer"),
    "RateLimit-Remaining": header("Requests left in this minute", "integer"),
    "RateLimit-Reset": header("When the minute ends, in seconds since 1970", "integer"),
    Location: header("Where it is now"),
    "Retry-After": header("Seconds to wait", "integer"),
    "WWW-Authenticate": header("`Bearer`, and what is wrong with a token that has ended"),
    "Idempotency-Replayed": header("`true` if this is the response to an earlier request"),
    Deprecation: header("`@` and the seconds from 1970 to the day since which the endpoint is deprecated"),
  },
  responses: RESPONSES,
  securitySchemes: SECURITY_SCHEMES,
});

export const TOKEN: readonly Json[] = [
  { privateToken: [] },
  { bearer: [] },
  { privateTokenParameter: [] },
  { accessTokenParameter: [] },
];
export const BASIC: Json = { basic: [] };
