import { finished, PassThrough, type Readable } from "node:stream";
import { packet, readPacket } from "#git/pkt-line.ts";
import { encodePushRequest, type PushRequest, readPushRequest } from "#git/push-commands.ts";
import { BANDS, encodeReport, parseReport, type PushReport, withoutPaths } from "#git/report.ts";
import type { Running } from "#git/storages/storage.ts";
import type { AuditEntry } from "#http/audit.ts";
import { forbidden } from "#lib/refusal.ts";
import { drain, firstEvent } from "#lib/streams.ts";
import { READ_ONLY } from "#domains/storage/repositories/read-only.ts";
import type { Services } from "#services.ts";
import { dropIntent, type LeasedIntent, createIntent, abandonIntent } from "./intents.ts";
import type { PushAccess, RepositoryAccess } from "./access.ts";
import { reasonAgainst } from "./confirm.ts";
import { forwardOnly, refusedChanges } from "./rules.ts";
import { completePush } from "./reconcile.ts";

/** More than git reports for the largest number of refs. */
const MAX_REPORT_BYTES = 64 * 1024 * 1024;
/** The rest of a refused push is read and discarded, so that a client that is still sending gets to read the report. */
const DRAIN_LIMITS = { bytes: 1024 ** 3, time: 60_000 };

interface PushOptions {
  readonly signal?: AbortSignal;
  /** The audit event to insert when the push is recorded. */
  readonly audit?: AuditEntry | null;
  /** Called before the end of the answer with the reason, if not all refs are changed. */
  failed?(reason: string): void;
  /**
   * Whether nothing is answered before everything has arrived, as over HTTP: some clients hang if an answer over HTTP/2
   * comes earlier. Over SSH a client may keep its side open until it has read the report.
   */
  readonly halfDuplex?: boolean;
}

/**
 * Receives a push: reads its ref changes and objects, and streams what git says. Progress is sent at once, the report
 * only after the events are recorded; if they cannot be, the answer breaks off without a report.
 */
export async function receivePush(
  services: Services,
  access: PushAccess,
  input: Readable,
  { signal, audit = null, failed = () => {}, halfDuplex = false }: PushOptions = {},
): Promise<Readable> {
  // Readers of the input notice the error themselves, and there may be none.
  input.on("error", () => {});
  const request = await readPushRequest(input);
  const answer = new PassThrough();
  answer.on("error", () => {});
  if (request.changes.length === 0) return answer.end();

  const refuseAll = (problems: ReadonlyMap<string, string>) => {
    if (!request.capabilities.report) throw forbidden([...problems.values()][0]);
    failed(firstOf(problems));
    const report = encodeReport({ unpack: "ok", changed: new Set(), problems }, request.capabilities);
    void endAnswer({ input, answer, halfDuplex }, report);
    return answer;
  };

  const refused = refusalsOf(access, request);
  if (refused.size === request.changes.length) return refuseAll(refused);
  const push = await startPush(services, access, request, refused, { signal, audit });
  if (!push) return refuseAll(new Map(request.changes.map(({ ref }) => [ref, refused.get(ref) ?? READ_ONLY])));
  void finishPush(services, { ...push, input, answer, failed, halfDuplex });
  return answer;
}

/** Returns, by ref, why changes are refused before git starts. */
function refusalsOf(
  access: RepositoryAccess,
  { changes, capabilities, optionsProblem: problem }: PushRequest,
): Map<string, string> {
  if (problem !== undefined) return new Map(changes.map(({ ref }) => [ref, problem]));
  const refused = refusedChanges(access, changes);
  if (refused.size === 0 || !capabilities.atomic) return refused;
  return new Map(changes.map(({ ref }) => [ref, refused.get(ref) ?? "refused with the rest of an atomic push"]));
}

/** A push whose git is running. */
interface Push {
  readonly access: RepositoryAccess;
  readonly request: PushRequest;
  readonly refused: ReadonlyMap<string, string>;
  readonly intent: LeasedIntent;
  readonly git: Running;
}

async function startPush(
  services: Services,
  access: PushAccess,
  request: PushRequest,
  refused: ReadonlyMap<string, string>,
  { signal, audit }: { readonly signal: AbortSignal | undefined; readonly audit: AuditEntry | null },
): Promise<Push | undefined> {
  const changes = request.changes.filter(({ ref }) => !refused.has(ref));
  const intent = await createIntent(services, access, changes, audit);
  if (!intent) return undefined;
  try {
    const { maxInputBytes } = access;
    const rules = { forwardOnly: forwardOnly(access, changes), ...(maxInputBytes !== undefined && { maxInputBytes }) };
    const confirm = () => reasonAgainst(services, access, intent);
    const git = await access.repository.receivePack({ mode: "stateless", rules, confirm, ...(signal && { signal }) });
    git.input.write(encodePushRequest(request, changes));
    return { access, request, refused, intent, git };
  } catch (error) {
    intent.releaseLease();
    await dropIntent(services.db.write, intent.id);
    throw error;
  }
}

interface Streams {
  readonly input: Readable;
  readonly answer: PassThrough;
  readonly halfDuplex: boolean;
}

interface Exchange extends Push, Streams {
  failed(reason: string): void;
}

/** Runs a push to its end. Never throws: the caller already has the answer, and reads errors from its stream. */
async function finishPush(services: Services, exchange: Exchange): Promise<void> {
  const { intent, git, answer, access, request, refused, failed } = exchange;
  const { repository } = access;
  try {
    const { report, complaints, unsent } = await transfer(exchange);
    const done = intent.changes.filter(({ ref }) => report.changed.has(ref));
    await completePush(services, { intent, repository, done });
    const problems = new Map([...report.problems, ...refused]);
    if (report.unpack !== "ok") failed([`unpack ${report.unpack}`, ...complaints].join(": "));
    else if (problems.size > 0) failed(firstOf(problems));
    if (report.problems.size > 0) await repository.unlock([...report.problems.keys()]);
    const last = Buffer.concat([...unsent, encodeReport({ ...report, problems }, request.capabilities)]);
    if (problems.size > 0) await endAnswer(exchange, last);
    else answer.end(last);
  } catch (error) {
    failed("the push ended without a report");
    services.log.warn({ err: error, push: intent.id }, "a push ended without a report");
    git.stop();
    await git.ended.catch(() => {});
    await abandonIntent(services.db.write, intent.id).catch(() => {});
    answer.destroy(new Error("The push ended without a report"));
  } finally {
    intent.releaseLease();
  }
}

/** Ends the answer to a refused push. Git stops reading early when it refuses, while the client may still be sending. */
async function endAnswer({ input, answer, halfDuplex }: Streams, last: Buffer): Promise<void> {
  if (!halfDuplex) answer.write(last);
  await drain(input, DRAIN_LIMITS);
  answer.end(halfDuplex ? last : undefined);
}

/** One of the reasons why refs are not changed, for the log. */
function firstOf(problems: ReadonlyMap<string, string>): string {
  const [[ref, reason] = ["", ""]] = problems;
  return `${ref.slice(0, 255)}: ${reason}`;
}

const MAX_COMPLAINTS = 5;
/** Before git has read everything it reports only why it reads no further, so a few packets are enough. */
const MAX_UNSENT_PACKETS = 16;

/** What git complains of in its progress, such as a full disk. */
const complaintsIn = (progress: Buffer): string[] =>
  progress
    .toString()
    .split(/[\r\n]/)
    .filter((line) => /^(?:fatal|error): /.test(line));

interface Transferred {
  readonly report: PushReport;
  readonly complaints: readonly string[];
  /** Progress that was not sent, because a client that does not read yet is still sending. */
  readonly unsent: readonly Buffer[];
}

/** Pipes the objects to git and the progress to the client; returns the complete report. */
async function transfer({ git, input, request, answer, halfDuplex }: Exchange): Promise<Transferred> {
  input.pipe(git.input);
  const stopWatching = finished(input, { writable: false }, (error) => error && git.stop());
  try {
    const report: Buffer[] = [];
    const complaints: string[] = [];
    const unsent: Buffer[] = [];
    let bytes = 0;
    for (let data = await readPacket(git.output); data !== null; data = await readPacket(git.output)) {
      if (data[0] !== BANDS.report) {
        const progress = withoutPaths(data);
        if (complaints.length < MAX_COMPLAINTS) complaints.push(...complaintsIn(progress.subarray(1)));
        if (request.capabilities.sideBand && unsent.length < MAX_UNSENT_PACKETS) unsent.push(packet(progress));
        const mayAnswer = !halfDuplex || input.readableEnded;
        if (mayAnswer && unsent.length > 0) await send(answer, Buffer.concat(unsent.splice(0)));
        continue;
      }
      report.push(data.subarray(1));
      bytes += data.length;
      if (bytes > MAX_REPORT_BYTES) throw new Error("the report of a push is too long");
    }
    git.output.resume();
    return { report: parseReport(Buffer.concat(report)), complaints: complaints.slice(0, MAX_COMPLAINTS), unsent };
  } finally {
    stopWatching();
    input.unpipe(git.input);
  }
}

async function send(answer: PassThrough, bytes: Buffer) {
  if (!answer.destroyed && !answer.write(bytes)) await firstEvent(answer, "drain", "close");
}
