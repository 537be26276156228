import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { packet, readPacket } from "#git/pkt-line.ts";
import { GitFailed, type PackCall } from "#git/storages/storage.ts";
import { consumerOf } from "#lib/consumer.ts";
import { reasonOf, Refusal } from "#lib/refusal.ts";
import { firstEvent } from "#lib/streams.ts";
import { recordKeyUse } from "#resources/deploy-keys/queries.ts";
import type { Reauthenticate } from "#resources/repositories/caller.ts";
import { type Opened, openByPath } from "#resources/repositories/opening.ts";
import { receivePush } from "#resources/repositories/push.ts";
import type { Services } from "#services.ts";
import { comingWith, type Comer, principalOf } from "./callers.ts";
import { readGitCommand } from "./commands.ts";

/** The ends of a session, whoever made them: our own server, or sshd by way of `git-session`. */
export interface Wire {
  readonly input: Readable;
  readonly output: Writable;
  /** Shows a line to the person. */
  tell(line: string): void;
}

export interface Asked {
  /** Of the key that was proven. */
  readonly fingerprint: string;
  /** Undefined where a shell was asked for. */
  readonly command: string | undefined;
  readonly protocol: PackCall["protocol"];
  readonly address: string | undefined;
}

const REFUSED = 1;
const FAILED = 128;
const SERVICES = {
  "upload-pack": { operation: "git.upload_pack", need: "read", serve: serveFetch },
  "receive-pack": { operation: "git.receive_pack", need: "push", serve: servePush },
} as const;

/** Does what was asked for and gives the exit status; logs one line. */
export async function serveSession(services: Services, asked: Asked, wire: Wire, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  const line: Record<string, unknown> = { operation: "git.greeting", ip: asked.address };
  let status = 0;
  try {
    const comer = await comerOf(services, asked.fingerprint);
    line["key_id"] = comer.key.id;
    if (comer.key.kind === "user") line["user_id"] = comer.key.user.id;
    if (asked.command === undefined) wire.tell(greeting(comer));
    else {
      const reauthenticate = async () => (await comerOf(services, asked.fingerprint)).caller;
      await serveGit(services, comer, asked.command, { ...asked, wire, signal, line, reauthenticate });
    }
  } catch (error) {
    status = failed(services, error, wire, signal, line);
  }
  services.log.info({ ...line, exit: status, ms: Math.round((performance.now() - began) * 10) / 10 });
  return status;
}

/** The key was looked up when it was proven; it may have been taken back since. */
async function comerOf(services: Services, fingerprint: string): Promise<Comer> {
  const coming = await comingWith(services, fingerprint);
  if ("problem" in coming) throw new Refusal("forbidden", coming.problem);
  await recordKeyUse(services.db, coming.comer.key);
  return coming.comer;
}

interface Serving {
  readonly wire: Wire;
  readonly signal: AbortSignal;
  readonly protocol: PackCall["protocol"];
  readonly address: string | undefined;
  readonly line: Record<string, unknown>;
  readonly reauthenticate: Reauthenticate;
}

async function serveGit(services: Services, comer: Comer, text: string, serving: Serving) {
  const command = readGitCommand(text);
  if (!command) {
    serving.line["operation"] = "git.refused";
    throw new Refusal("forbidden", "Only git can be used here: clone, fetch and push");
  }
  const { operation, need, serve } = SERVICES[command.service];
  serving.line["operation"] = operation;
  const opened = await openByPath(
    services,
    comer.caller,
    command.path,
    need,
    consumerOf(serving.address ?? "", principalOf(comer)),
  );
  serving.line["project_id"] = opened.project.id;
  await serve(services, opened, serving);
}

/**
 * Starts the git that serves a fetch only when the client asks for something, so that a silent one holds no slot. That
 * git tells the refs once more, to nobody; a ref that was removed in between is refused as it is over HTTP.
 */
async function serveFetch(_services: Services, { repository }: Opened, { wire, signal, protocol }: Serving) {
  const call = { signal, ...(protocol && { protocol }) };
  const advertising = await repository.uploadPack({ mode: "advertise session", ...call });
  await send(advertising.output, wire.output, signal);
  await advertising.ended;
  const first = await firstPacket(wire.input);
  signal.throwIfAborted();
  if (!first) return;
  const git = await repository.uploadPack({ mode: "session", ...call });
  while ((await readPacket(git.output)) !== null);
  git.input.write(packet(first));
  wire.input.pipe(git.input);
  await send(git.output, wire.output, signal);
  await git.ended;
}

/** The first packet of a client; undefined where it wants nothing more than to see the refs. */
async function firstPacket(input: Readable): Promise<Buffer | undefined> {
  if (input.readableLength === 0) await firstEvent(input, "readable", "end", "error", "close");
  if (input.readableLength === 0) return undefined;
  return (await readPacket(input)) ?? undefined;
}

/** Over SSH the refs are told and the commands taken in one session; each is done as over HTTP. */
async function servePush(services: Services, opened: Opened, { wire, signal, reauthenticate }: Serving) {
  const git = await opened.repository.receivePack({ mode: "advertise", signal });
  await send(git.output, wire.output, signal);
  await git.ended;
  await send(await receivePush(services, { ...opened, reauthenticate }, wire.input, { signal }), wire.output, signal);
}

async function send(from: Readable, to: Writable, signal: AbortSignal) {
  for await (const chunk of from) if (!to.write(chunk)) await once(to, "drain", { signal });
}

const greeting = ({ key }: Comer) =>
  key.kind === "user"
    ? `Hello @${key.user.username}, you are signed in to Fairlead. There is no shell here, only git.`
    : `Hello, deploy key "${key.title.replaceAll(/\p{Cc}/gu, " ")}". There is no shell here, only git.`;

function failed({ log }: Services, error: unknown, wire: Wire, signal: AbortSignal, line: Record<string, unknown>) {
  if (error instanceof Refusal) {
    wire.tell(`ERROR: ${reasonOf(error)}`);
    return REFUSED;
  }
  // Whoever went away is told nothing, and nothing is wrong.
  if (signal.aborted) {
    line["gone"] = true;
    return FAILED;
  }
  if (error instanceof GitFailed) line["git"] = error.message;
  else log.error({ err: error }, "an SSH session failed");
  wire.tell("ERROR: Something went wrong on this side");
  return FAILED;
}
