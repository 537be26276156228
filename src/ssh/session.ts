import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { principalName, type Reauthenticate } from "#access/principal.ts";
import { packet, readPacket } from "#git/pkt-line.ts";
import { GitFailed, type PackCall } from "#git/storages/storage.ts";
import { consumerOf } from "#lib/consumer.ts";
import { reasonOf, Refusal, refusedSignIn } from "#lib/refusal.ts";
import { firstEvent } from "#lib/streams.ts";
import { recordKeyUse } from "#domains/code/deploy-keys/queries.ts";
import { pushEntry } from "#domains/code/repository/audit.ts";
import { reauthorized } from "#domains/code/repository/reauthorize.ts";
import { authorizeByPath } from "#domains/code/transport/owners.ts";
import type { RepositoryAccess } from "#domains/storage/pushes/access.ts";
import { receivePush } from "#domains/storage/pushes/receive.ts";
import type { Services } from "#services.ts";
import { readGitCommand } from "./commands.ts";
import { authenticateKey, type KeyHolder } from "./key-holder.ts";

/** The streams of a session, served by our own server or by sshd through `git-session`. */
export interface Wire {
  readonly input: Readable;
  readonly output: Writable;
  /** Shows a line to the user. */
  showLine(line: string): void;
}

export interface SessionRequest {
  /** The fingerprint of the proven key. */
  readonly fingerprint: string;
  /** Undefined if the client requested a shell. */
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

/** What the log says of a session. */
interface SessionLine {
  operation: "git.greeting" | "git.refused" | "git.upload_pack" | "git.receive_pack";
  readonly request_id: string;
  readonly ip: string | undefined;
  key_id?: number;
  user_id?: number;
  project_id?: number;
  snippet_id?: number;
  group_id?: number;
  reason?: string;
  gone?: true;
}

function outcomeOf(status: number, { reason, gone }: SessionLine): "ok" | "refused" | "failed" | "gone" {
  if (gone) return "gone";
  if (status === REFUSED) return "refused";
  return status === 0 && reason === undefined ? "ok" : "failed";
}

/** Runs the requested command and returns its exit status; logs one line. */
export async function serveSession(
  services: Services,
  request: SessionRequest,
  wire: Wire,
  signal: AbortSignal,
): Promise<number> {
  const began = performance.now();
  const requestId = randomUUID();
  const line: SessionLine = { operation: "git.greeting", request_id: requestId, ip: request.address };
  let status = 0;
  try {
    const holder = await holderOf(services, request.fingerprint);
    line.key_id = holder.key.id;
    if (holder.key.kind === "user") line.user_id = holder.key.user.id;
    if (request.command === undefined) wire.showLine(greeting(holder));
    else {
      const reauthenticate = async () => (await holderOf(services, request.fingerprint)).principal;
      await serveGit(services, holder, request.command, { ...request, wire, signal, line, requestId, reauthenticate });
    }
  } catch (error) {
    status = failed(services, error, wire, signal, line);
  }
  const level = line.reason === undefined ? "info" : "warn";
  const ms = performance.now() - began;
  services.metrics.ssh.commands.observe({ operation: line.operation, outcome: outcomeOf(status, line) }, ms / 1000);
  services.log[level]({ ...line, exit: status, ms: Math.round(ms * 10) / 10 });
  return status;
}

/** Looks the key up again: it may have been revoked since it was proven. */
async function holderOf(services: Services, fingerprint: string): Promise<KeyHolder> {
  const authentication = await authenticateKey(services, fingerprint);
  if ("problem" in authentication) {
    const { kind, problem } = authentication;
    throw refusedSignIn(new Refusal("forbidden", problem), { kind, reason: problem });
  }
  await recordKeyUse(services.db, authentication.holder.key);
  return authentication.holder;
}

interface Serving {
  readonly wire: Wire;
  readonly signal: AbortSignal;
  readonly protocol: PackCall["protocol"];
  readonly address: string | undefined;
  readonly requestId: string;
  readonly line: SessionLine;
  readonly reauthenticate: Reauthenticate;
}

async function serveGit(services: Services, { principal }: KeyHolder, text: string, serving: Serving) {
  const command = readGitCommand(text);
  if (!command) {
    serving.line.operation = "git.refused";
    throw new Refusal("forbidden", "Only git can be used here: clone, fetch and push");
  }
  const { operation, need, serve } = SERVICES[command.service];
  serving.line.operation = operation;
  const access = await authorizeByPath(
    services,
    principal,
    command.path,
    need,
    consumerOf(serving.address ?? "", principalName(principal)),
  );
  serving.line[access.kind.logged] = access.owner.id;
  await serve(services, access, serving);
}

/**
 * Starts the git that serves a fetch only once the client asks for something, so that a silent one holds no slot. That
 * git advertises the refs again, which is discarded; a ref that was removed in between is refused as over HTTP.
 */
async function serveFetch(_services: Services, { repository }: RepositoryAccess, { wire, signal, protocol }: Serving) {
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

/** The first packet of a client; undefined if it only wanted to see the refs. */
async function firstPacket(input: Readable): Promise<Buffer | undefined> {
  if (input.readableLength === 0) await firstEvent(input, "readable", "end", "error", "close");
  if (input.readableLength === 0) return undefined;
  return (await readPacket(input)) ?? undefined;
}

/** Over SSH, refs are advertised and commands received in one session; each is done as over HTTP. */
async function servePush(services: Services, access: RepositoryAccess, serving: Serving) {
  const { wire, signal, reauthenticate, address, requestId } = serving;
  const git = await access.repository.receivePack({ mode: "advertise", signal });
  await send(git.output, wire.output, signal);
  await git.ended;
  const push = reauthorized(services, access, reauthenticate);
  const audit = pushEntry(access, { address: address ?? null, requestId });
  const failed = (reason: string) => void (serving.line.reason = reason);
  await send(await receivePush(services, push, wire.input, { signal, audit, failed }), wire.output, signal);
}

async function send(from: Readable, to: Writable, signal: AbortSignal) {
  for await (const chunk of from) if (!to.write(chunk)) await once(to, "drain", { signal });
}

const greeting = ({ key }: KeyHolder) =>
  key.kind === "user"
    ? `Hello @${key.user.username}, you are signed in to Fairlead. There is no shell here, only git.`
    : `Hello, deploy key "${key.title.replaceAll(/\p{Cc}/gu, " ")}". There is no shell here, only git.`;

function failed(services: Services, error: unknown, wire: Wire, signal: AbortSignal, line: SessionLine) {
  const { log } = services;
  if (error instanceof Refusal) {
    line.reason = reasonOf(error);
    const { signIn } = error.details;
    if (signIn) {
      services.reportRefusedSignIn({ ...signIn, ip: line.ip, request_id: line.request_id });
    }
    wire.showLine(`ERROR: ${reasonOf(error)}`);
    return REFUSED;
  }
  // The client disconnected; there is nobody to answer.
  if (signal.aborted) {
    line.gone = true;
    return FAILED;
  }
  line.reason = error instanceof GitFailed ? error.message : "unexpected failure";
  if (!(error instanceof GitFailed)) log.error({ err: error }, "an SSH session failed");
  wire.showLine("ERROR: An internal error occurred");
  return FAILED;
}
