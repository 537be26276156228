import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { badRequest } from "#lib/refusal.ts";
import { FLUSH, packet, readPacket } from "./pkt-line.ts";
import { isObjectId, isRefName, ZERO_ID } from "./refs.ts";

/** A change of one ref: a creation if the old id is zero, a deletion if the new one is. */
export interface RefChange {
  /** A full ref, such as `refs/heads/main`. */
  readonly ref: string;
  readonly oldId: string;
  readonly newId: string;
}

/** The capabilities that a client requests, as far as we support them. */
export interface PushCapabilities {
  readonly report: boolean;
  readonly sideBand: boolean;
  readonly quiet: boolean;
  readonly atomic: boolean;
}

/** The commands of a push, which precede its objects. */
export interface PushRequest {
  readonly changes: readonly RefChange[];
  /** The shallow commits of the client. */
  readonly shallow: readonly string[];
  readonly capabilities: PushCapabilities;
  /** Why the push options are refused. */
  readonly optionsProblem: string | undefined;
}

const MAX_CHANGES = 50_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_OPTIONS = 16;
const OPTION = /^[\x20-\x7e]{1,1024}$/;
const CHANGE = /^(?<oldId>[0-9a-f]{40}) (?<newId>[0-9a-f]{40}) (?<ref>.+)$/s;

/** Reads the commands and no byte of the pack. Git sends an empty list to find out whether it may push. */
export async function readPushRequest(input: Readable): Promise<PushRequest> {
  const next = boundedLines(input);
  const changes = new Map<string, RefChange>();
  const shallow: string[] = [];
  let requested: readonly string[] = [];

  for (let line = await next(); line !== null; line = await next()) {
    if (changes.size === 0 && line.startsWith("shallow ")) {
      shallow.push(shallowId(line));
      continue;
    }
    if (line.startsWith("push-cert")) throw badRequest("signed pushes are not supported");
    const end = changes.size === 0 ? line.indexOf("\0") : -1;
    if (end !== -1) requested = capabilitiesIn(line.slice(end + 1));
    const change = changeIn(end === -1 ? line : line.slice(0, end));
    if (changes.has(change.ref)) throw badRequest(`the push changes ${change.ref} twice`);
    if (changes.size === MAX_CHANGES) throw badRequest(`a push changes at most ${MAX_CHANGES} refs`);
    changes.set(change.ref, change);
  }

  const asks = (name: string) => requested.includes(name);
  return {
    changes: [...changes.values()],
    shallow,
    capabilities: {
      report: asks("report-status") || asks("report-status-v2"),
      sideBand: asks("side-band-64k"),
      quiet: asks("quiet"),
      atomic: asks("atomic"),
    },
    optionsProblem: asks("push-options") ? await readOptions(next) : undefined,
  };
}

/** Encodes the request for git: only the permitted changes, only our capabilities, and no push options. */
export function encodePushRequest({ shallow, capabilities }: PushRequest, changes: readonly RefChange[]): Buffer {
  const requested = ["report-status", "side-band-64k", "object-format=sha1"];
  if (capabilities.quiet) requested.push("quiet");
  if (capabilities.atomic) requested.push("atomic");
  return Buffer.concat([
    ...shallow.map((id) => packet(`shallow ${id}`)),
    ...changes.map(({ ref, oldId, newId }, at) =>
      packet(`${oldId} ${newId} ${ref}${at === 0 ? `\0 ${requested.join(" ")}` : ""}`),
    ),
    FLUSH,
  ]);
}

/** Returns a reader of lines, null at the end of each list, which refuses once they exceed the limit. */
function boundedLines(input: Readable): () => Promise<string | null> {
  let bytes = 0;
  return async () => {
    const data = await readPacket(input);
    bytes += 4 + (data?.length ?? 0);
    if (bytes > MAX_BYTES) throw badRequest("the list of changes is too long");
    if (data && !isUtf8(data)) throw badRequest("names of branches and tags must be UTF-8");
    return data && data.toString().replace(/\n$/, "");
  };
}

function shallowId(line: string): string {
  const id = line.slice("shallow ".length);
  if (!isObjectId(id)) throw badRequest("the list of changes has a malformed line");
  return id;
}

function capabilitiesIn(text: string): string[] {
  const capabilities = text.split(" ");
  if (capabilities.some((name) => name.startsWith("object-format=") && name !== "object-format=sha1")) {
    throw badRequest("only SHA-1 repositories are supported");
  }
  return capabilities;
}

function changeIn(line: string): RefChange {
  const { oldId = "", newId = "", ref = "" } = CHANGE.exec(line)?.groups ?? {};
  if (ref === "") throw badRequest("the list of changes has a malformed line");
  if (!isRefName(ref)) throw badRequest("the push has an invalid ref name");
  if (oldId === newId) throw badRequest(`the push does not change ${ref}`);
  return { ref, oldId, newId };
}

/** Push options are validated and discarded, since nothing uses them yet. */
async function readOptions(next: () => Promise<string | null>): Promise<string | undefined> {
  let count = 0;
  let fit = true;
  for (let option = await next(); option !== null; option = await next()) {
    count += 1;
    fit &&= OPTION.test(option);
  }
  if (count > MAX_OPTIONS) return `a push has at most ${MAX_OPTIONS} options`;
  return fit ? undefined : "a push option has 1 to 1024 printable ASCII characters";
}

export const isCreation = ({ oldId }: RefChange) => oldId === ZERO_ID;
export const isRemoval = ({ newId }: RefChange) => newId === ZERO_ID;
