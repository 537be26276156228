import { hash } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import type { Objects } from "#git/objects/object.ts";
import type { Consumer } from "#lib/consumer.ts";

/** The name of a repository on its storage, made of a hash: no part of it was chosen by a person. */
export type RepositoryName = `@hashed/${string}`;

export function projectRepository(projectId: number): RepositoryName {
  const digest = hash("sha256", String(projectId), "hex");
  return `@hashed/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
}

/** A named place for repositories: a directory of this machine, or one day another process of ours. */
export interface Storage {
  readonly name: string;
  /** A repository as used for a consumer, whose share of git processes its use takes; left out, for work of our own. */
  repository(name: RepositoryName, consumer?: Consumer): Repository;
  /** All that it holds, in no order. */
  repositories(): AsyncIterable<RepositoryName>;
  /** Throws where nothing can be written to it. */
  probe(): Promise<void>;
}

/** One repository where it is kept. Nobody learns where that is. */
export interface Repository {
  readonly name: RepositoryName;
  readonly storage: string;
  readonly objects: Objects;
  /**
   * Makes it if it is not there, empty or with what `git fast-import` is told. Of many who do so at once each finds it
   * made, and as a whole.
   */
  create(defaultBranch: string, beginning?: string): Promise<void>;
  exists(): Promise<boolean>;
  /** Ends it; what is not there is ended already. */
  remove(): Promise<void>;
  /** Says which branch is looked at first, whether it is there or not. */
  setHead(branch: string): Promise<void>;
  /** Packs what pushes left, beside whoever reads and pushes meanwhile. What nothing leads to stays for two weeks. */
  maintain(call?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Takes away what a git that was killed left to keep others from changing these refs. */
  unlock(refs: readonly string[]): Promise<void>;
  /** Bytes on disk. */
  size(): Promise<number>;
  /** One digest of all refs and where they point: two copies with the same one have the same refs. */
  refsChecksum(): Promise<string>;
  uploadPack(call: PackCall): Promise<Running>;
  receivePack(call: PushCall): Promise<Running>;
  run(call: PlumbingCall): Promise<Running>;
}

/** How git is asked to serve a fetch or a push. */
export interface PackCall {
  /**
   * `advertise` only tells the refs, `stateless` answers one request of HTTP, `session` speaks until its end;
   * `advertise session` tells the refs as a session begins.
   */
  readonly mode: "advertise" | "advertise session" | "stateless" | "session";
  /** What the client said in `Git-Protocol`, checked by `protocolOf`. */
  readonly protocol?: "version=1" | "version=2";
  readonly signal?: AbortSignal;
}

/** Nothing is pushed without rules, nor without being confirmed. */
type PushCall = PackCall &
  (
    | { readonly mode: "advertise" }
    | { readonly mode: "stateless"; readonly rules: PushRules; readonly confirm: ConfirmPush }
  );

/**
 * Decides a push once more when its objects are in and none of its refs has changed; it may have taken hours to get
 * there. A text refuses the push, and the pusher reads it.
 */
export type ConfirmPush = () => Promise<string | undefined>;

/** What can be decided only when the objects of a push are there, told to the hook that does. */
export interface PushRules {
  /** Branches, in full, that may only move forward. */
  readonly forwardOnly: readonly string[];
  /** Bytes that this push may bring, where that is less than any may. */
  readonly maxInputBytes?: number;
}

/** The plumbing that may be run in a repository; nothing else may. */
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
  /** Options, written by us. */
  readonly options?: readonly string[];
  /** Revisions and the like, which may come from a person: they stand behind `--end-of-options`. */
  readonly values?: readonly string[];
  /** Paths, which stand behind `--` and are taken as they are, not as patterns. */
  readonly paths?: readonly string[];
  /** All that it is told; left out, its input is empty. */
  readonly input?: string | Buffer;
  /** Whether the caller goes on to write to `input` of what runs, and ends it. */
  readonly asked?: true;
  readonly signal?: AbortSignal;
  /** Milliseconds, 30 s if left out; `Infinity` for one that is kept. */
  readonly timeout?: number;
  /** Whether it lasts as long as a client takes for its output. */
  readonly transfer?: true;
}

/** A git process that was let on; it is stopped with its children when its time or its caller's is over. */
export interface Running {
  readonly input: Writable;
  readonly output: Readable;
  /** Settles when it ended: rejected with `GitFailed` unless it ended well. Never unhandled, if nobody looks. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** What git says when it cannot have the memory that it asks for; of a diff it says only this. */
const OUT_OF_MEMORY = /out of memory|cannot allocate memory|attempting to allocate|unable to generate diff/i;

/** Git ended otherwise than well. The text is git's own and may name paths: it is for the log. */
export class GitFailed extends Error {
  readonly command: string;
  readonly exitCode: number | null;
  readonly stderr: string;
  /** Whether it needed more memory than it may have. */
  readonly outOfMemory: boolean;

  constructor(command: string, exitCode: number | null, stderr: string) {
    super(`git ${command} ended with ${exitCode ?? "a signal"}: ${stderr.slice(0, 500)}`);
    this.command = command;
    this.exitCode = exitCode;
    this.stderr = stderr;
    this.outOfMemory = OUT_OF_MEMORY.test(stderr);
  }
}
