import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { badRequest } from "#lib/refusal.ts";
import { FLUSH, packet, readPacket } from "./pkt-line.ts";
import { isObjectId, isRefName, ZERO_ID } from "./refs.ts";

/** What is to become of one ref: made where the old id is zero, removed where the new one is. */
export interface RefChange {
  /** In full, such as `refs/heads/main`. */
  readonly ref: string;
  readonly oldId: string;
  readonly newId: string;
}

/** How the client wants to be answered, and whether all of its changes are to happen or none. */
export interface PushWishes {
  readonly report: boolean;
  readonly sideBand: boolean;
  readonly quiet: boolean;
  readonly atomic: boolean;
}

/** What a push says before its objects. */
export interface PushRequest {
  readonly changes: readonly RefChange[];
  /** Commits whose parents the client does not have. */
  readonly shallow: readonly string[];
  readonly wishes: PushWishes;
  /** Why the options of the push are refused. */
  readonly optionsProblem: string | undefined;
}

const MOST_CHANGES = 50_000;
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_OPTIONS = 16;
const OPTION = /^[\x20-\x7e]{1,1024}$/;
const CHANGE = /^(?<oldId>[0-9a-f]{40}) (?<newId>[0-9a-f]{40}) (?<ref>.+)$/s;

/** Reads what stands before the pack and nothing of the pack. An empty list is what git asks with whether it may push. */
export async function readPushRequest(input: Readable): Promise<PushRequest> {
  const next = boundedLines(input);
  const changes = new Map<string, RefChange>();
  const shallow: string[] = [];
  let capabilities: readonly string[] = [];

  for (let line = await next(); line !== null; line = await next()) {
    if (changes.size === 0 && line.startsWith("shallow ")) {
      shallow.push(shallowId(line));
      continue;
    }
    if (line.startsWith("push-cert")) throw badRequest("signed pushes are not taken");
    const end = changes.size === 0 ? line.indexOf("\0") : -1;
    if (end !== -1) capabilities = capabilitiesIn(line.slice(end + 1));
    const change = changeIn(end === -1 ? line : line.slice(0, end));
    if (changes.has(change.ref)) throw badRequest(`the push changes ${change.ref} twice`);
    if (changes.size === MOST_CHANGES) throw badRequest(`a push changes at most ${MOST_CHANGES} refs`);
    changes.set(change.ref, change);
  }

  const asks = (name: string) => capabilities.includes(name);
  return {
    changes: [...changes.values()],
    shallow,
    wishes: {
      report: asks("report-status") || asks("report-status-v2"),
      sideBand: asks("side-band-64k"),
      quiet: asks("quiet"),
      atomic: asks("atomic"),
    },
    optionsProblem: asks("push-options") ? await readOptions(next) : undefined,
  };
}

/** The list as git is handed it: only changes that may be, only words of ours, and nothing of the push's options. */
export function pushList({ shallow, wishes }: PushRequest, changes: readonly RefChange[]): Buffer {
  const words = ["report-status", "side-band-64k", "object-format=sha1"];
  if (wishes.quiet) words.push("quiet");
  if (wishes.atomic) words.push("atomic");
  return Buffer.concat([
    ...shallow.map((id) => packet(`shallow ${id}`)),
    ...changes.map(({ ref, oldId, newId }, at) =>
      packet(`${oldId} ${newId} ${ref}${at === 0 ? `\0 ${words.join(" ")}` : ""}`),
    ),
    FLUSH,
  ]);
}

/** Lines one by one, null at the end of each list, as long as all of it together is not too much. */
function boundedLines(input: Readable): () => Promise<string | null> {
  let bytes = 0;
  return async () => {
    const data = await readPacket(input);
    bytes += 4 + (data?.length ?? 0);
    if (bytes > MOST_BYTES) throw badRequest("the list of changes is too long");
    if (data && !isUtf8(data)) throw badRequest("names of branches and tags are UTF-8");
    return data && data.toString().replace(/\n$/, "");
  };
}

function shallowId(line: string): string {
  const id = line.slice("shallow ".length);
  if (!isObjectId(id)) throw badRequest("the list of changes has a line that is none");
  return id;
}

function capabilitiesIn(text: string): string[] {
  const capabilities = text.split(" ");
  if (capabilities.some((name) => name.startsWith("object-format=") && name !== "object-format=sha1")) {
    throw badRequest("repositories here are SHA-1");
  }
  return capabilities;
}

function changeIn(line: string): RefChange {
  const { oldId = "", newId = "", ref = "" } = CHANGE.exec(line)?.groups ?? {};
  if (ref === "") throw badRequest("the list of changes has a line that is none");
  if (!isRefName(ref)) throw badRequest("the push names a ref that git does not take");
  if (oldId === newId) throw badRequest(`the push does not change ${ref}`);
  return { ref, oldId, newId };
}

/** Options are read off and reach nothing: they are words of a person, for which no command has a use yet. */
async function readOptions(next: () => Promise<string | null>): Promise<string | undefined> {
  let count = 0;
  let fit = true;
  for (let option = await next(); option !== null; option = await next()) {
    count += 1;
    fit &&= OPTION.test(option);
  }
  if (count > MOST_OPTIONS) return `a push takes at most ${MOST_OPTIONS} options`;
  return fit ? undefined : "an option of a push is 1 to 1024 printable ASCII characters";
}

export const isCreation = ({ oldId }: RefChange) => oldId === ZERO_ID;
export const isRemoval = ({ newId }: RefChange) => newId === ZERO_ID;
