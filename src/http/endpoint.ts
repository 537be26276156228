import type { Readable } from "node:stream";
import type { Static, TObject, TProperties, TSchema } from "typebox";
import type { Access } from "#access/access.ts";
import type { Principal } from "#access/principal.ts";
import type { Databases, Db, Tx } from "#db/database.ts";
import type { Consumer } from "#lib/consumer.ts";
import type { AuditEntry } from "./audit.ts";
import type { LimitClass } from "#limits/rate-limits.ts";
import type { Services } from "#services.ts";
import type { Idempotent } from "./idempotency/keyed-request.ts";
import type { LongLived } from "./long-lived.ts";
import type { Page, Paged, PagedMark } from "./paging.ts";
import type { JsonLimits } from "./params/json.ts";
import type { UnlessModified } from "./preconditions.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Offering = "self-managed" | "dedicated" | "hosted";
export type Plan = "free" | "premium" | "ultimate";
/** A day, `YYYY-MM-DD`. */
type Day = `${number}-${number}-${number}`;

/** Since when an operation is deprecated, and what to use instead. */
export interface Deprecation {
  readonly since: Day;
  readonly replacement: string;
}

/** The names in a path, as a type: "/projects/:id/x/:key_id" gives "id" | "key_id", "/*project.git/x" gives "project". */
export type PathNames<P extends string> = P extends `${infer A}/${infer B}`
  ? PathNames<A> | PathNames<B>
  : P extends `:${infer Name}`
    ? Name
    : P extends `*${infer Name}.${string}`
      ? Name
      : P extends `*${infer Name}`
        ? Name
        : never;

/** A body that stays bytes and is read after authentication; `json()` parses it within these limits. */
export interface RawBody {
  readonly kind: "raw";
  readonly bytes: number;
  readonly json: JsonLimits;
}
export type BodyKind = "params" | RawBody | "stream";

/** A response that is not JSON. */
export interface Plain {
  readonly contentType: string;
}
export const plain = (contentType: string): Plain => ({ contentType });
const isPlain = (returns: TSchema | Plain | undefined): returns is Plain =>
  returns !== undefined && "contentType" in returns;
export const plainOf = (returns: TSchema | Plain | undefined) => (isPlain(returns) ? returns : undefined);
export const schemaOf = (returns: TSchema | Plain | undefined) => (isPlain(returns) ? undefined : returns);

/** The event of a write that its own table records, unless somebody acts for another user or changes what another wrote. */
export interface EventForOthers {
  readonly forOthers: string;
}
export const auditedForOthers = (event: string): EventForOthers => ({ forOthers: event });

/** The event of a write; null if nothing is changed. */
type Audit = string | EventForOthers | null;

export const eventOf = (audit: Audit | undefined): string | undefined =>
  typeof audit === "object" ? audit?.forOthers : audit;

/** What an audited write changed; `details` holds changed fields, never a secret. */
export interface AuditTarget {
  readonly type: string;
  readonly id: number;
  readonly name: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whose audit log shows it beside the administrators'; if left out, only theirs does. */
  readonly entity?: { readonly type: "User" | "Group" | "Project"; readonly id: number };
  /** The id of the user who wrote what was changed, for an event that is recorded only then. */
  readonly writtenBy?: number | null;
}

/** The part of the context that every handler gets. */
interface Common {
  readonly services: Services;
  /** The base URL of the instance as this caller sees it, for links. */
  readonly site: string;
  readonly requestId: string;
  /** Who is charged for the shared resources that this request takes. */
  readonly consumer: Consumer;
  /** Reserves memory for a response before it is built; throws 503 if the process or this caller holds too much. */
  reserveMemory(bytes: number): void;
  /** Counts text that a write copies, as that of its parameters is counted; throws 429 if the caller stored too much. */
  countContent(characters: number): void;
  /** The value of a request header, named in lower case. */
  header(name: string): string | undefined;
  setHeader(name: string, value: string): void;
  /** Tells the caller that a parameter of this endpoint had no effect, by its name in `X-Ignored-Parameters`. */
  ignored(name: string): void;
  /** A signal that is aborted if the client disconnects before the response is complete. */
  gone(): AbortSignal;
  /** Says why the request failed although its status is that of success; the log line becomes a warning. */
  failed(reason: string): void;
  /** Authenticates the same credentials again, for slow writes; refused if they have ended since. */
  reauthenticate(): Promise<Principal>;
}

interface Reads {
  readonly db: Db;
  readonly databases: Databases;
}
export interface Writes {
  readonly tx: Tx;
  /** Names what the write changed; the kernel writes the audit row in the same transaction. */
  audit(target: AuditTarget): void;
  /** Sets another status than the usual one, such as 202 if a job will finish the work. */
  setStatus(status: number): void;
}
/** The part of the context that a handler passes on to the functions that do the write. */
export type WriteContext = Pick<Writes, "tx" | "audit"> & Pick<Common, "services">;

/** A write with transactions of its own, which inserts its audit event in the one that commits the change. */
interface OwnTransaction extends Pick<Writes, "setStatus"> {
  readonly databases: Databases;
  /** The audit event of this request, for `insertAudit`. */
  auditEntry(target: AuditTarget): AuditEntry;
  /** Whether the request was made for another user than its own, which an event of its kind records. */
  readonly actsForAnother: boolean;
}

type Data<M extends Method, Own> = M extends "GET" ? Reads : [Own] extends [never] ? Writes : OwnTransaction;
type Body<B> = B extends RawBody
  ? { readonly body: Buffer; json(): unknown }
  : B extends "stream"
    ? { readonly body: Readable }
    : object;
/** Refuses with 412 if what is to be deleted changed after the time in `If-Unmodified-Since`. */
export interface Conditional {
  readonly unlessModified: UnlessModified;
}
type Condition<C> = [C] extends [never] ? object : Conditional;
type Paging<R> = [R] extends [never] ? object : R extends PagedMark ? { readonly page: Page<R> } : object;
type Answer<R> = [R] extends [never]
  ? void
  : R extends Plain
    ? string | Buffer | Readable
    : R extends Paged<infer Item>
      ? Static<Item>[]
      : R extends TSchema
        ? Static<R>
        : never;

/** The context that the kernel builds for an endpoint of any kind. */
export type HandlerContext = Common & { readonly params: object } & Partial<
    Reads &
      Writes &
      OwnTransaction &
      Conditional & { readonly page: Page<never>; readonly body: Buffer | Readable; json(): unknown }
  >;

/** Requires that the parameters of a path are declared. */
export type Declares<Path extends string> = TObject<Record<PathNames<Path>, TSchema> & TProperties>;

export interface Endpoint {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly access: Access<object>;
  readonly params: TObject;
  readonly returns?: TSchema | Plain;
  readonly status?: number;
  readonly audit?: Audit;
  readonly mount?: "api" | "root";
  /** The path by which unmodified clients know the same operation. */
  readonly alias?: string;
  /** For a path that ends in a name, which may itself end in `.json`: whether a segment is an id, after which it is a format. */
  readonly formatSuffixAfter?: (segment: string) => boolean;
  readonly body?: BodyKind;
  /** The limit for the parameters of the body, if higher than usual. */
  readonly maxBodyBytes?: number;
  readonly transaction?: "own";
  readonly limit?: LimitClass;
  readonly errors?: "api" | "git";
  readonly offering?: readonly Offering[];
  readonly plan?: Plan;
  /** Responses carry the day in the header `Deprecation`. */
  readonly deprecated?: Deprecation;
  /** Whether a multipart body may spell its parameters in camel case, as one client does. */
  readonly camelCase?: true;
  readonly idempotent?: Idempotent;
  /** Whether what a DELETE removes has a time of change, to which `If-Unmodified-Since` is compared. */
  readonly conditional?: true;
  /** Whether the response is 304 if the requested state is in place already. */
  readonly unchanged?: true;
  /** A stream without an end, with a limit on connections of its own. */
  readonly longLived?: LongLived;
  prepare?(context: never): unknown;
  handle(context: never): unknown;
}

/**
 * Defines one operation of the API. Path, query and body are merged into `params`. The compiler refuses a missing access
 * rule, a path name that `params` lacks, another result than `returns`, a write without its audit event, `page` without
 * a paged result, and `db` in a write, which has its transaction.
 */
export function endpoint<
  const M extends Method,
  const Path extends string,
  Granted extends object,
  Params extends Declares<Path>,
  const Returns extends TSchema | Plain = never,
  const Own extends "own" = never,
  const B extends BodyKind = "params",
  Prepared extends object = object,
  const C extends true = never,
>(
  spec: {
    readonly method: M;
    readonly path: Path;
    readonly summary: string;
    readonly access: Access<Granted>;
    readonly params: Params;
    readonly returns?: Returns;
    readonly status?: number;
    readonly mount?: "api" | "root";
    readonly alias?: string;
    readonly formatSuffixAfter?: (segment: string) => boolean;
    readonly body?: B;
    /** A body beyond the usual limit is read only once the caller is authorized. */
    readonly maxBodyBytes?: number;
    readonly transaction?: Own;
    readonly limit?: LimitClass;
    readonly errors?: "api" | "git";
    readonly offering?: readonly Offering[];
    readonly plan?: Plan;
    readonly deprecated?: Deprecation;
    readonly camelCase?: true;
    readonly idempotent?: M extends "GET" ? never : Idempotent;
    /** The handler passes the time of change to `unlessModified`, before or after it deletes. */
    readonly conditional?: M extends "DELETE" ? C : never;
    readonly unchanged?: M extends "GET" ? never : true;
    readonly longLived?: M extends "GET" ? LongLived : never;
    /** Slow work that must not hold a connection: done before the transaction, its result joins the context. */
    prepare?(context: Common & Granted & { readonly params: Static<Params> }): Promise<Prepared>;
    handle(
      context: Common &
        Data<M, Own> &
        Granted &
        Body<B> &
        Paging<Returns> &
        Condition<C> &
        Prepared & { readonly params: Static<Params> },
    ): Promise<Answer<Returns>> | Answer<Returns>;
  } & (M extends "GET" ? object : { readonly audit: Audit }),
) {
  return spec;
}

/** The status of success: as declared, else 204 without a body, 201 for POST, 200 otherwise. */
export const successOf = (endpoint: Endpoint): number =>
  endpoint.status ?? (endpoint.returns === undefined ? 204 : endpoint.method === "POST" ? 201 : 200);

/** The names of the parameters in a path. */
export const pathNames = (path: string): string[] => [...path.matchAll(/[:*](\w+)/g)].map((match) => match[1] ?? "");
