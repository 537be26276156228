import type { Db } from "#db/database.ts";
import type { Line } from "./matrix/line.ts";
import type { Request } from "./plans/request.ts";
import type { TestApp, TestUser } from "./support/app.ts";

/**
 * Describes a resource to the harnesses, in `<resource>.contract.ts` beside its tests. The loader finds every such file,
 * so the authorization matrix and everything that builds on it cover a new resource without an edit elsewhere. A
 * contract is the oracle: it imports only from `#test/`, never the code that it judges.
 */
export interface Contract {
  /**
   * Who may call each endpoint, by method and path. If the response depends on the parameters there are several lines,
   * the usual request first.
   */
  readonly lines: Readonly<Record<string, Line | readonly [Line, ...Line[]]>>;
  /** The tables that hold its rows. */
  readonly tables?: readonly string[];
  /** Foreign keys, as `table.column`, that delete its rows with the user, namespace, project or repository they name. */
  readonly cascades?: readonly string[];
  /** How to create one, by the name that lines use for it in `child`, `holds`, `has` and `object`. */
  readonly fixtures?: Readonly<Record<string, Fixture>>;
  /** The values of `{name}` in what lines send. */
  readonly values?: Readonly<Record<string, (context: FixtureContext) => string | Promise<string>>>;
  /** A valid request for each write that no line can express, such as one with a password; `user` will send it. */
  readonly requests?: Readonly<Record<string, (context: FixtureContext, user: TestUser) => Promise<WriteRequest>>>;
  /** Writes that cannot be repeated, or that only a job completes, with the reason. */
  readonly unrepeatable?: Readonly<Record<string, string>>;
  /** Columns with unique values. */
  readonly differing?: readonly string[];
  /** Statements that undo what requests changed in the accounts of callers, for lines with `resetsAccounts`. */
  readonly resetAccounts?: readonly string[];
  /** Its lists on the large seed, of which `test/plans` checks the statements. */
  readonly plans?: Plans;
}

export interface Plans {
  /** A statement for one row with the ids that the requests name. */
  readonly sample: string;
  requests(sample: Readonly<Record<string, number>>): readonly Request[];
  /** Indexes, each with the path of a request by an administrator that is slow or reads much more without it. */
  indexes(sample: Readonly<Record<string, number>>): Readonly<Record<string, string>>;
}

/** A write that no line can express. */
export interface WriteRequest {
  readonly payload?: object;
  /** The headers of a session, if the request needs one. */
  readonly headers?: Record<string, string>;
  /** Whose audit log shows it, if that is neither the caller's nor that of the container. */
  readonly entity?: Entity;
  /** Whether the audit event has no target, because the request names none. */
  readonly hasNoTarget?: true;
}

/** The entity of an audit event. */
export type Entity = readonly [type: "User" | "Group" | "Project", id: number] | readonly [type: "Instance", id: null];

/** The group, project or user that a fixture is created for. */
export interface Parent {
  readonly kind: "group" | "project" | "user";
  readonly id: number;
  /** The user who acts in the request, if there is one. */
  readonly acting?: number | undefined;
  /** Distinguishes the fixtures of one parent, and is the same in all parents. */
  readonly name: string;
}

/** The name of a fixture in a path. */
export type Name = number | string;

export interface Fixture {
  /** The kinds of parents that it can have; a top group is a top-level group. */
  readonly parents: readonly (Parent["kind"] | "top group")[];
  /** Whether the fixture of a group above is a case of its own. */
  readonly above?: true;
  /**
   * Creates one for each parent, in bulk since there may be hundreds, and returns the name of each in a path, or all
   * names after the parent's if there are several.
   */
  make(context: FixtureContext, parents: readonly Parent[]): Promise<readonly (Name | readonly Name[])[]>;
}

/** What fixtures are created with. */
export interface FixtureContext {
  readonly db: Db;
  /** Sends a request. */
  readonly call: TestApp["call"];
  makeUser(columns?: Parameters<TestApp["makeUser"]>[0]): Promise<TestUser>;
  /** What the key of the installation makes of a label. */
  derive(label: string): Promise<Buffer>;
  /** A user without memberships, and a public group with an Owner only; the same name returns the same one. */
  person(name: string): Promise<number>;
  group(name: string): Promise<number>;
  /** Runs `make` only once for each name. */
  once<T>(name: string, make: () => Promise<T>): Promise<T>;
}
