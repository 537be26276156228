import { hash } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import type { Objects } from "#git/objects/object.ts";
import type { Consumer } from "#lib/consumer.ts";

/** The path of a repository on its storage, made of a hash, so that no part of it is user input. */
export type RepositoryName = `@hashed/${string}`;

export const projectRepository = (projectId: number): RepositoryName => repositoryAt(String(projectId));

export const snippetRepository = (snippetId: number): RepositoryName => repositoryAt(`snippet ${snippetId}`);

export const wikiRepository = (container: "project" | "group", id: number): RepositoryName =>
  repositoryAt(`wiki of ${container} ${id}`);

function repositoryAt(name: string): RepositoryName {
  const digest = hash("sha256", name, "hex");
  return `@hashed/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
}

/**
 * The path of the copy that an attempt at a move creates. No other attempt and no other move ever uses it, so one that
 * lost its lease can neither replace nor remove a repository in use.
 */
export const copyPath = (path: RepositoryName, moveId: number, attempt: number): RepositoryName =>
  `${path.replace(/-\d+-\d+$/, "") as RepositoryName}-${moveId}-${attempt}`;

/** A named place for repositories: a directory on this machine, or later another process. */
export interface Storage {
  readonly name: string;
  /** A handle on a repository; the consumer is charged for its git processes, by default background work. */
  repository(name: RepositoryName, consumer?: Consumer): Repository;
  /** All repositories it holds, in no order. */
  repositories(): AsyncIterable<RepositoryName>;
  /** Throws if it cannot be written; changes nothing. */
  probe(): Promise<void>;
  /** Creates what it needs, and throws if it cannot be written. */
  prepare(): Promise<void>;
  space(): Promise<StorageSpace>;
  /** The same text for two names of one storage. */
  identity(): Promise<string>;
}

export interface StorageSpace {
  readonly free_bytes: number;
  readonly total_bytes: number;
}

export interface CopyCall {
  readonly signal: AbortSignal;
  /** Called with the bytes that have arrived, before the first and after each chunk. */
  onProgress(bytes: number, totalBytes: number): void;
}

/** A copy that failed for a reason that an administrator can act on. */
export class CopyFailed extends Error {}

/** A repository on its storage. Its directory is never exposed. */
export interface Repository {
  readonly name: RepositoryName;
  readonly storage: string;
  readonly objects: Objects;
  /**
   * Creates it unless it exists, empty or from a `git fast-import` stream. Atomic: concurrent callers all find it
   * complete.
   */
  create(defaultBranch: string, firstCommit?: string): Promise<void>;
  exists(): Promise<boolean>;
  /** Removes it; a no-op if it does not exist. */
  remove(): Promise<void>;
  /** Points HEAD to a branch, whether it exists or not. */
  setHead(branch: string): Promise<void>;
  /** Packs it while reads and pushes go on. Unreachable objects stay for two weeks. */
  maintain(call?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Removes stale lock files of these refs that a killed git left behind. */
  unlock(refs: readonly string[]): Promise<void>;
  /** Bytes on disk. */
  size(): Promise<number>;
  /** A digest of all refs and their targets: two copies with the same checksum have the same refs. */
  refsChecksum(): Promise<string>;
  /**
   * Creates it as a copy of a repository of another storage to which nobody pushes meanwhile. Every object is verified;
   * atomic: either it is complete and durable, or it does not exist.
   */
  copyFrom(source: Repository, call: CopyCall): Promise<void>;
  uploadPack(call: PackCall): Promise<Running>;
  receivePack(call: PushCall): Promise<Running>;
  run(call: PlumbingCall): Promise<Running>;
}

/** How git serves a fetch or a push. */
export interface PackCall {
  /**
   * `advertise` only lists the refs, `stateless` answers one HTTP request, `session` serves the whole exchange over SSH;
   * `advertise session` lists the refs at the beginning of a session.
   */
  readonly mode: "advertise" | "advertise session" | "stateless" | "session";
  /** The `Git-Protocol` of the client, validated by `protocolOf`. */
  readonly protocol?: "version=1" | "version=2";
  readonly signal?: AbortSignal;
}

/** A push requires rules and a confirmation. */
type PushCall = PackCall &
  (
    | { readonly mode: "advertise" }
    | { readonly mode: "stateless"; readonly rules: PushRules; readonly confirm: ConfirmPush }
  );

/**
 * Authorizes a push again after its objects arrived, possibly hours later, and before any ref changes. A returned text
 * refuses the push and is shown to the pusher.
 */
export type ConfirmPush = () => Promise<string | undefined>;

/** Rules that the hook checks, because they need the objects of the push. */
export interface PushRules {
  /** Full refs of branches that accept only fast-forwards. */
  readonly forwardOnly: readonly string[];
  /** The bytes this push may send, if fewer than the general limit. */
  readonly maxInputBytes?: number;
}

/** The only plumbing commands that may run in a repository. */
export const PLUMBING = [
  "archive",
  "blame",
  "cat-file",
  "commit-tree",
  "diff-tree",
  "fast-import",
  "for-each-ref",
  "hash-object",
  "ls-tree",
  "merge-base",
  "merge-tree",
  "mktree",
  "rev-list",
  "symbolic-ref",
  "update-ref",
] as const;

export interface PlumbingCall {
  readonly command: (typeof PLUMBING)[number];
  /** Options, never user input. */
  readonly options?: readonly string[];
  /** Revisions and the like, possibly user input: passed after `--end-of-options`. */
  readonly values?: readonly string[];
  /** Literal paths, passed after `--`. */
  readonly paths?: readonly string[];
  /** Its whole input; empty by default. */
  readonly input?: string | Buffer;
  /** Whether the caller writes to the `input` of the process and ends it. */
  readonly interactive?: true;
  readonly signal?: AbortSignal;
  /** By default 30 s; `Infinity` for a batch process. */
  readonly timeoutMs?: number;
  /** Whether its duration depends on how fast a client reads its output. */
  readonly transfer?: true;
}

/** A running git process; it is stopped with its children on timeout or when its caller aborts. */
export interface Running {
  readonly input: Writable;
  readonly output: Readable;
  /** Settles when the process ends; rejects with `GitFailed` if it failed. Never an unhandled rejection. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** The messages of git when an allocation fails; a diff reports only the last. */
const OUT_OF_MEMORY = /out of memory|cannot allocate memory|attempting to allocate|unable to generate diff/i;

/** A failure of git. The text comes from git and may name paths, so it is only for the log. */
export class GitFailed extends Error {
  readonly command: string;
  readonly exitCode: number | null;
  readonly stderr: string;
  /** Whether it exceeded its memory limit. */
  readonly outOfMemory: boolean;

  constructor(command: string, exitCode: number | null, stderr: string) {
    super(`git ${command} ended with ${exitCode ?? "a signal"}: ${stderr.slice(0, 500)}`);
    this.command = command;
    this.exitCode = exitCode;
    this.stderr = stderr;
    this.outOfMemory = OUT_OF_MEMORY.test(stderr);
  }
}
