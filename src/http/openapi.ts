import { STATUS_CODES } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { TObject, TSchema } from "typebox";
import { SCOPES } from "#access/scopes.ts";
import { RELEASE } from "#lib/release.ts";
import type { Operation } from "./app.ts";
import { type Deprecation, type Endpoint, pathNames, plainOf, schemaOf, successOf } from "./endpoint.ts";
import {
  fileOf,
  isRequired,
  type Json,
  rulesInWords,
  rulesOf,
  type SchemaWriter,
  schemaWriter,
  spelling,
} from "./openapi-schema.ts";
import { ABOUT, BASIC, headerRefs, PAGING_HEADERS, sharedComponents, TOKEN } from "./openapi-shared.ts";
import { API } from "./paths.ts";
import { pagedOf, paramsOf } from "./route.ts";

export interface OpenApi {
  readonly openapi: "3.1.1";
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Json;
  readonly [field: string]: unknown;
}

/** The titles of sections, by resource. */
export type Subjects = Readonly<Record<string, string>>;

/** The OpenAPI document of all operations, in sections by subject. */
export function openApiOf(operations: readonly Operation[], subjects: Subjects = {}): OpenApi {
  const schemas = schemaWriter();
  const subjectOf = (operation: Operation) => subjectIn(subjects, operation);
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const { endpoint } = operation;
    const path = publicPath(endpoint).replaceAll(/[:*](\w+)/g, "{$1}");
    (paths[path] ??= {})[endpoint.method.toLowerCase()] = {
      tags: [subjectOf(operation)],
      ...describeOperation(operation, schemas),
    };
  }
  return {
    openapi: "3.1.1",
    info: { title: "Fairlead", version: RELEASE, description: ABOUT, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: "/" }],
    tags: [...new Set(operations.map(subjectOf))].map((name) => ({ name })),
    paths,
    components: sharedComponents(schemas.components),
  };
}

/** The path as the documents show it, with names as `:name` and a leading full path as `*name`. */
export const publicPath = ({ mount, path }: Endpoint): string => (mount === "root" ? path : API + path);

/** The scopes of which a token needs one. */
const acceptedScopes = ({ access, method }: Endpoint): readonly string[] => {
  const usual = method === "GET" && !access.forGit ? (["api", "read_api"] as const) : (["api"] as const);
  return [...new Set([...usual, ...access.scopes])];
};

/** The same in words. */
export function scopesInWords(endpoint: Endpoint): string {
  const scopes = acceptedScopes(endpoint);
  return scopes.length === SCOPES.length ? "any" : scopes.map((scope) => `\`${scope}\``).join(", ");
}

/** The title of the section that an operation is in: `shipLogs.list` is in "Ship logs" if nothing else is said. */
export function subjectIn(subjects: Subjects, { name }: Operation): string {
  const [resource = name] = name.split(".", 1);
  const words = resource.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return subjects[resource] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

function describeOperation(operation: Operation, schemas: SchemaWriter): Json {
  const { name, endpoint } = operation;
  const { access, audit, deprecated, offering, plan } = endpoint;
  const params = paramsOf(endpoint);
  return {
    operationId: name,
    summary: endpoint.summary,
    description: inWords(endpoint, params).join("\n\n"),
    ...(deprecated && { deprecated: true }),
    security: access.ignoresCredentials
      ? []
      : [...(access.admits.anonymous ? [{}] : []), ...TOKEN, ...(access.forGit ? [BASIC] : [])],
    ...inputOf(operation, params, schemas),
    responses: { [successOf(endpoint)]: successAnswer(endpoint, schemas), ...refusals(endpoint) },
    "x-access": access.rule,
    "x-scopes": acceptedScopes(endpoint),
    ...(plan && { "x-plan": plan }),
    ...(offering && { "x-offering": offering }),
    ...(audit && { "x-audit-event": audit }),
    ...rulesOf(params),
  };
}

const inWords = (endpoint: Endpoint, params: TObject): string[] => [
  `Who may call: ${endpoint.access.rule}.`,
  `Scopes of the token, one of them: ${scopesInWords(endpoint)}.`,
  ...(endpoint.plan ? [`From plan: ${endpoint.plan}.`] : []),
  ...(endpoint.offering ? [`Offering: ${endpoint.offering.join(", ")}.`] : []),
  ...(endpoint.deprecated ? [deprecationInWords(endpoint.deprecated)] : []),
  ...rulesInWords(params),
];

/** Paths that begin with a container, which may have been renamed. */
const MOVABLE = /^\/(?:projects|groups|namespaces)\/:id(?:\/|$)/;

const deprecationInWords = ({ since, replacement }: Deprecation) =>
  `Deprecated since ${since}. Replacement: ${replacement}.`;

/** Names of the path are path parameters; the others are the query of GET and DELETE, or the body. */
function inputOf({ name, endpoint }: Operation, params: TObject, schemas: SchemaWriter): Json {
  const names = pathNames(endpoint.path);
  const others = Object.entries(params.properties).filter(([key]) => !names.includes(key));
  const { body = "params", method } = endpoint;
  const inQuery = method === "GET" || method === "DELETE" || body !== "params";
  const inPath = names.map((key) => parameter([key, params.properties[key] ?? {}], "path", endpoint, schemas));
  const query = inQuery ? others.map((property) => parameter(property, "query", endpoint, schemas)) : [];
  return {
    parameters: [...inPath, ...query, ...sharedParameters(endpoint)],
    ...(body !== "params" && { requestBody: { required: true, content: { "*/*": {} } } }),
    ...(!inQuery && others.length > 0 && { requestBody: bodyOf(name, others, params, schemas) }),
  };
}

const sharedParameters = ({ idempotent, conditional }: Endpoint): Json[] =>
  [...(idempotent ? ["idempotencyKey"] : []), ...(conditional ? ["ifUnmodifiedSince"] : []), "sudo"].map((name) => ({
    $ref: `#/components/parameters/${name}`,
  }));

type Property = readonly [name: string, schema: TSchema];
type Properties = readonly Property[];

function parameter(
  [key, schema]: Property,
  place: "path" | "query",
  { path }: Endpoint,
  { write }: SchemaWriter,
): Json {
  const {
    description = wordsForId(key, path),
    deprecated,
    "x-plan": plan,
    "x-offering": offering,
    ...value
  } = write(schema);
  const { name, style } = place === "path" ? { name: key } : spelling(key, schema);
  return {
    name,
    in: place,
    ...(description !== undefined && { description }),
    ...((place === "path" || isRequired(schema)) && { required: true }),
    ...(deprecated !== undefined && { deprecated }),
    ...style,
    schema: value,
    // The reference page would otherwise send keys and values of its own invention.
    ...(style?.style === "deepObject" && { example: {} }),
    ...(plan !== undefined && { "x-plan": plan }),
    ...(offering !== undefined && { "x-offering": offering }),
  };
}

function bodyOf(operation: string, properties: Properties, params: TObject, schemas: SchemaWriter): Json {
  const spelled = properties.map(([key, schema]) => [spelling(key, schema), schema] as const);
  const inForm: Properties = spelled.map(([{ name }, schema]) => [name, schema]);
  const styles = spelled.flatMap(([{ name, style }]) => (style ? [[name, style] as const] : []));
  const encoding = styles.length > 0 && { encoding: Object.fromEntries(styles) };
  const json = objectOf(properties.filter(sendable), withoutFile(schemas));
  const form = objectOf(inForm.filter(sendable), withoutFile(schemas));
  const reference = schemas.name(operation, json);
  return {
    required: properties.some(([, schema]) => isRequired(schema)) || "atLeastOneOf" in params,
    content: {
      "application/json": { schema: reference },
      "application/x-www-form-urlencoded": { schema: isDeepStrictEqual(form, json) ? reference : form, ...encoding },
      ...(properties.some(([, schema]) => fileOf(schema)) && {
        "multipart/form-data": {
          schema: objectOf(inForm, (schema) => schemas.write(fileOf(schema) ?? schema)),
          ...encoding,
        },
      }),
    },
  };
}

// Only multipart bodies carry files; in other bodies null can still remove one.
const sendable = ([, schema]: readonly [string, TSchema]) => fileOf(schema) !== schema;
const withoutFile =
  ({ write }: SchemaWriter) =>
  (schema: TSchema): Json =>
    fileOf(schema) ? { type: "null" } : write(schema);

function objectOf(properties: Properties, write: (schema: TSchema) => Json): Json {
  const required = properties.filter(([, schema]) => isRequired(schema)).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties.map(([name, schema]) => [name, write(schema)])),
    ...(required.length > 0 && { required }),
  };
}

function successAnswer(endpoint: Endpoint, { write }: SchemaWriter): Json {
  const schema = schemaOf(endpoint.returns);
  const plain = plainOf(endpoint.returns);
  const paging = pagedOf(endpoint.returns) ? PAGING_HEADERS : [];
  const replayed = endpoint.idempotent ? ["Idempotency-Replayed"] : [];
  const deprecation = endpoint.deprecated ? ["Deprecation"] : [];
  return {
    description: STATUS_CODES[successOf(endpoint)] ?? "Success",
    headers: headerRefs(["X-Request-Id", ...paging, ...replayed, ...deprecation]),
    ...(schema && { content: { "application/json": { schema: write(schema) } } }),
    ...(plain && { content: { [plain.contentType]: {} } }),
  };
}

function refusals(endpoint: Endpoint): Json {
  const { method, path, limit = "api", errors = "api" } = endpoint;
  if (errors === "git") return reference("default", "git");
  const isRead = method === "GET";
  const overloaded = { api: "429", git: "429", "sign-in": "429", ingestion: "503", none: undefined }[limit];
  const statuses = ["400", "401", "403", "404", ...(isRead ? ["414"] : ["409", "414", "422"]), "default"];
  return {
    ...(MOVABLE.test(path) && reference(isRead ? "301" : "308")),
    ...(endpoint.unchanged && reference("304")),
    ...(isRead && schemaOf(endpoint.returns) && reference("304", "fresh")),
    ...Object.assign({}, ...statuses.map((status) => reference(status))),
    ...(endpoint.conditional && reference("412")),
    ...(overloaded !== undefined && reference(overloaded)),
  };
}

const reference = (status: string, name = status): Json => ({ [status]: { $ref: `#/components/responses/${name}` } });

/** Tells the `id` of something from its number in a project or group, where the schema of a parameter says nothing. */
function wordsForId(key: string, path: string): string | undefined {
  const [, prefix, name] = /^(?:(\w+)_)?(i?id)s?$/.exec(key) ?? [];
  const [, collection] = new RegExp(`/(\\w+)/:${key}(?:/|$)`).exec(path) ?? [];
  const thing = (prefix ?? collection?.replace(/s$/, ""))?.replaceAll("_", " ");
  if (thing === undefined || name === undefined) return undefined;
  if (key.endsWith("s")) return `The \`${name}\` of each ${thing}`;
  if (name === "id") return `The \`id\` of the ${thing}`;
  const container = path.startsWith("/groups/") ? "group" : "project";
  return `The \`iid\` of the ${thing}: its number in the ${container}, not its \`id\``;
}
