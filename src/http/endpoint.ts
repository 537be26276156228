import type { Readable } from "node:stream";
import type { Static, TObject, TProperties, TSchema } from "typebox";
import type { Access } from "#access/access.ts";
import type { Actor } from "#access/actor.ts";
import type { Databases, Db, Tx } from "#db/database.ts";
import type { Consumer } from "#lib/consumer.ts";
import type { Services } from "#services.ts";
import type { LimitClass } from "./limits.ts";
import type { LongLived } from "./long-lived.ts";
import type { Page, Paged, PagedMark } from "./paging.ts";
import type { JsonLimits } from "./params/json.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Offering = "self-managed" | "dedicated" | "hosted";
export type Plan = "free" | "premium" | "ultimate";

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

/** A body that is kept as it came, read after authentication; `json()` parses it by the given limits. */
export interface RawBody {
  readonly kind: "raw";
  readonly bytes: number;
  readonly json: JsonLimits;
}
export type BodyKind = "params" | RawBody | "stream";

/** An answer that is not JSON. */
export interface Plain {
  readonly contentType: string;
}
export const plain = (contentType: string): Plain => ({ contentType });
const isPlain = (returns: TSchema | Plain | undefined): returns is Plain =>
  returns !== undefined && "contentType" in returns;
export const plainOf = (returns: TSchema | Plain | undefined) => (isPlain(returns) ? returns : undefined);
export const schemaOf = (returns: TSchema | Plain | undefined) => (isPlain(returns) ? undefined : returns);

/** What an audited write was done to; `details` holds changed fields, never a secret. */
export interface AuditTarget {
  readonly type: string;
  readonly id: number;
  readonly name: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whose audit log shows it beside the administrators'; left out, it is the instance's own matter. */
  readonly entity?: { readonly type: "User" | "Group" | "Project"; readonly id: number };
}

/** What every handler is given beside what its access rule grants. */
interface Common {
  readonly services: Services;
  /** The instance's own address as this caller sees it, for links. */
  readonly site: string;
  readonly requestId: string;
  /** Who is counted for what this request takes of what all share. */
  readonly consumer: Consumer;
  /** Reserves memory for an answer before it is built; throws 503 where the process or this caller holds too much. */
  reserveMemory(bytes: number): void;
  /** What the request says in a header, named in lower case. */
  header(name: string): string | undefined;
  setHeader(name: string, value: string): void;
  /** Aborted when the caller leaves before the answer is whole. */
  gone(): AbortSignal;
  /** Authenticates the caller again by what they showed; refused if it has ended since. For writes that take long. */
  reauthenticate(): Promise<Actor | null>;
}

interface Reads {
  readonly db: Db;
  readonly databases: Databases;
}
export interface Writes {
  readonly tx: Tx;
  /** Says what the write was done to; the kernel writes the audit row in the same transaction. */
  audit(target: AuditTarget): void;
  /** Says that it came out otherwise than usual, as 202 does of what a job will finish. */
  setStatus(status: number): void;
}
/** What a write hands on to what does it. */
export type Writing = Pick<Writes, "tx" | "audit"> & Pick<Common, "services">;

/** As in a write, but the audit row is written once it is done, and only if it says what it was done to. */
interface OwnTransaction extends Pick<Writes, "audit" | "setStatus"> {
  readonly databases: Databases;
}

type Data<M extends Method, Own> = M extends "GET" ? Reads : [Own] extends [never] ? Writes : OwnTransaction;
type Body<B> = B extends RawBody
  ? { readonly body: Buffer; json(): unknown }
  : B extends "stream"
    ? { readonly body: Readable }
    : object;
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

/** Parameters of a path must be declared; the rest is free. */
export type Declares<Path extends string> = TObject<Record<PathNames<Path>, TSchema> & TProperties>;

export interface Endpoint {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly access: Access<object>;
  readonly params: TObject;
  readonly returns?: TSchema | Plain;
  readonly status?: number;
  readonly audit?: string | null;
  readonly mount?: "api" | "root";
  readonly body?: BodyKind;
  /** Bytes of parameters, where they may be more than usual. */
  readonly mostBody?: number;
  readonly transaction?: "own";
  readonly limit?: LimitClass;
  readonly errors?: "api" | "git";
  readonly offering?: readonly Offering[];
  readonly plan?: Plan;
  readonly deprecated?: true;
  /** Other names that a client gives a parameter of a multipart body. */
  readonly camelCase?: true;
  /** Whether the answer is kept for a while, for a caller who asks again with the same `Idempotency-Key`. */
  readonly keepsAnswer?: true;
  /** A stream without an end, which has connections of its own. */
  readonly longLived?: LongLived;
  prepare?(context: never): unknown;
  handle(context: never): unknown;
}

/**
 * One operation of the API, said in one place. `params` is what path, query and body merge into. The compiler refuses
 * a missing access rule, a path name that `params` lacks, another answer than `returns`, a write without its audit
 * event, `page` where the answer is no page, and the database where a write has its transaction.
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
    readonly body?: B;
    /** Beyond what is usual, they are read only once it is certain that the caller may ask at all. */
    readonly mostBody?: number;
    readonly transaction?: Own;
    readonly limit?: LimitClass;
    readonly errors?: "api" | "git";
    readonly offering?: readonly Offering[];
    readonly plan?: Plan;
    readonly deprecated?: true;
    readonly camelCase?: true;
    readonly keepsAnswer?: M extends "GET" ? never : true;
    readonly longLived?: M extends "GET" ? LongLived : never;
    /** Slow work that must not hold a connection: it is done before the transaction, and its result handed on. */
    prepare?(context: Common & Granted & { readonly params: Static<Params> }): Promise<Prepared>;
    handle(
      context: Common &
        Data<M, Own> &
        Granted &
        Body<B> &
        Paging<Returns> &
        Prepared & { readonly params: Static<Params> },
    ): Promise<Answer<Returns>> | Answer<Returns>;
    // Null where nothing is changed, or what is changed is told as an event instead.
  } & (M extends "GET" ? object : { readonly audit: string | null }),
) {
  return spec;
}

/** The status of success: as said, else 201 for POST, 204 without an answer, 200 otherwise. */
export const successOf = (endpoint: Endpoint): number =>
  endpoint.status ?? (endpoint.returns === undefined ? 204 : endpoint.method === "POST" ? 201 : 200);

/** The names of the parameters that stand in the path. */
export const pathNames = (path: string): string[] => [...path.matchAll(/[:*](\w+)/g)].map((match) => match[1] ?? "");
