import type { ServerResponse } from "node:http";
import type { TObject } from "typebox";
import type { Access } from "#access/access.ts";
import type { LimitClass } from "#limits/rate-limits.ts";
import type { Meter } from "#metrics/http.ts";
import type { Services } from "#services.ts";
import {
  type BodyKind,
  type Endpoint,
  type HandlerContext,
  pathNames,
  plainOf,
  schemaOf,
  successOf,
} from "./endpoint.ts";
import { fieldGate, isOffered, isInPlan, withinPlan, withProperties } from "./gates.ts";
import { ignoredParameters } from "./ignored.ts";
import type { Kernel } from "./kernel.ts";
import { longLivedConnections } from "./long-lived.ts";
import { pager } from "./pages.ts";
import { type PagedMark, type PagingOptions, pagingParams } from "./paging.ts";
import { compileParams } from "./params/coerce.ts";
import type { RawSet } from "./params/raw.ts";

/** An endpoint with everything that is derived from it once, at start. */
export interface Route {
  readonly kernel: Kernel;
  readonly services: Services;
  readonly operation: string;
  readonly endpoint: Endpoint;
  readonly isRead: boolean;
  readonly isOffered: boolean;
  readonly isInPlan: boolean;
  readonly limit: LimitClass;
  readonly meter: Meter;
  /** Whether errors are plain text, which is all that git shows to people. */
  readonly plainErrors: boolean;
  readonly body: BodyKind;
  /** Whether the body is a stream, which may take long as long as it comes. */
  readonly streamed: boolean;
  /** The access rule for authenticating the same credentials again. */
  readonly reauthentication: Access<object>;
  readonly pathNames: readonly string[];
  readonly coerceParams: (raw: RawSet) => object;
  /** The names of parameters in a request that have no effect. */
  readonly ignoredParams: (raw: RawSet) => readonly string[];
  readonly paging: { readonly options: PagingOptions; readonly pageFor: ReturnType<typeof pager> } | undefined;
  /** Admits the connection of a stream without an end, or refuses it. */
  readonly admitLongLived: ((response: ServerResponse) => void) | undefined;
  /** The databases that a handler may use. A write gets its transaction instead, and nothing that would bypass it. */
  readonly databases: Pick<HandlerContext, "db" | "databases">;
  readonly prepare: ((context: HandlerContext) => Promise<object>) | undefined;
  readonly handle: (context: HandlerContext) => unknown;
  /** Removes the fields of a response that this installation does not have. */
  readonly gate: (body: unknown) => unknown;
  readonly success: number;
  /** Headers of every response, names and values in turn. */
  readonly responseHeaders: readonly string[];
  /** The content type of a response that is not JSON. */
  readonly contentType: string | undefined;
}

export function makeRoute(kernel: Kernel, operation: string, endpoint: Endpoint): Route {
  const { services } = kernel;
  const { config, db, metrics } = services;
  const names = pathNames(endpoint.path);
  const paged = pagedOf(endpoint.returns);
  const body = endpoint.body ?? "params";
  const isRead = endpoint.method === "GET";
  const params = withinPlan(paramsOf(endpoint), config);
  return {
    kernel,
    services,
    operation,
    endpoint,
    isRead,
    isOffered: isOffered(endpoint, config),
    isInPlan: isInPlan(endpoint, config),
    limit: endpoint.limit ?? "api",
    meter: metrics.http.meterOf(operation),
    plainErrors: endpoint.errors === "git",
    body,
    streamed: body === "stream",
    // A token that ended during its own request was not reused after its end.
    reauthentication: { ...endpoint.access, onRevokedToken: () => Promise.resolve() },
    pathNames: names,
    coerceParams: compileParams(params, names),
    ignoredParams: ignoredParameters(params),
    paging: paged && { options: paged, pageFor: pager(paged) },
    admitLongLived: endpoint.longLived && longLivedConnections(endpoint.longLived, kernel.sending),
    databases: {
      ...(isRead && { db: db.read }),
      ...((isRead || endpoint.transaction === "own") && { databases: db }),
    },
    prepare: endpoint.prepare as Route["prepare"],
    handle: endpoint.handle as Route["handle"],
    gate: fieldGate(schemaOf(endpoint.returns), config),
    success: successOf(endpoint),
    responseHeaders: deprecationOf(endpoint),
    contentType: plainOf(endpoint.returns)?.contentType,
  };
}

/** The header of RFC 9745: the moment since which the endpoint is deprecated. */
const deprecationOf = ({ deprecated }: Endpoint): string[] =>
  deprecated === undefined ? [] : ["deprecation", `@${Date.parse(deprecated.since) / 1000}`];

/** The parameters of an endpoint, with those of its paging. */
export function paramsOf({ params, returns }: Endpoint): TObject {
  const paged = pagedOf(returns);
  return paged ? withProperties(params, { ...pagingParams(paged), ...params.properties }) : params;
}

export const pagedOf = (returns: Endpoint["returns"]): PagedMark["paged"] | undefined => {
  const schema: Partial<PagedMark> | undefined = schemaOf(returns);
  return schema?.paged;
};
