import { finished, PassThrough, type Readable } from "node:stream";
import { packet, readPacket } from "#git/pkt-line.ts";
import { pushList, type PushRequest, readPushRequest } from "#git/push-commands.ts";
import { BANDS, encodeReport, parseReport, type PushReport, withoutPlaces } from "#git/report.ts";
import type { Running } from "#git/storages/storage.ts";
import { forbidden } from "#lib/refusal.ts";
import { drain, firstEvent } from "#lib/streams.ts";
import type { Services } from "#services.ts";
import { dropIntent, type HeldIntent, holdIntent, leaveIntent } from "./intents.ts";
import type { Opened, PushAccess } from "./opening.ts";
import { reasonAgainst } from "./reauthorize.ts";
import { forwardOnly, refusedChanges } from "./rules.ts";
import { settle } from "./settling.ts";

/** More than git says of as many refs as a push may have. */
const MOST_OF_REPORT = 64 * 1024 * 1024;
/** What is read of a push for nothing, so that its client, still sending, gets to read the report. */
const MOST_DRAINED = { bytes: 1024 ** 3, time: 60_000 };

/**
 * Takes a push: its list of changes and its objects come in, what git says of it goes out. Progress goes out at once,
 * the report only when the events are written; where they cannot be, the answer breaks off without one.
 */
export async function receivePush(
  services: Services,
  opened: PushAccess,
  input: Readable,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Readable> {
  // Whoever waits for the input is told in other ways, and nobody may be waiting.
  input.on("error", () => {});
  const request = await readPushRequest(input);
  const answer = new PassThrough();
  answer.on("error", () => {});
  if (request.changes.length === 0) return answer.end();

  const refused = refusalsOf(opened, request);
  if (refused.size === request.changes.length) {
    if (!request.wishes.report) throw forbidden([...refused.values()][0]);
    answer.write(encodeReport({ unpack: "ok", changed: new Set(), problems: refused }, request.wishes));
    void drain(input, MOST_DRAINED).then(() => answer.end());
    return answer;
  }
  const push = await startPush(services, opened, request, refused, signal);
  void carryOn(services, { ...push, input, answer });
  return answer;
}

/** Why changes are refused before git hears of them, by the names of their refs. */
function refusalsOf(opened: Opened, { changes, wishes, optionsProblem: problem }: PushRequest): Map<string, string> {
  if (problem !== undefined) return new Map(changes.map(({ ref }) => [ref, problem]));
  const refused = refusedChanges(opened, changes);
  if (refused.size === 0 || !wishes.atomic) return refused;
  return new Map(changes.map(({ ref }) => [ref, refused.get(ref) ?? "refused with the rest of an atomic push"]));
}

/** A push that git is at work on. */
interface Push {
  readonly opened: Opened;
  readonly request: PushRequest;
  readonly refused: ReadonlyMap<string, string>;
  readonly intent: HeldIntent;
  readonly git: Running;
}

async function startPush(
  services: Services,
  opened: PushAccess,
  request: PushRequest,
  refused: ReadonlyMap<string, string>,
  signal: AbortSignal | undefined,
): Promise<Push> {
  const changes = request.changes.filter(({ ref }) => !refused.has(ref));
  const intent = await holdIntent(services, opened, changes);
  try {
    const { maxInputBytes } = opened;
    const rules = { forwardOnly: forwardOnly(opened, changes), ...(maxInputBytes !== undefined && { maxInputBytes }) };
    const confirm = () => reasonAgainst(services, opened, intent);
    const git = await opened.repository.receivePack({ mode: "stateless", rules, confirm, ...(signal && { signal }) });
    git.input.write(pushList(request, changes));
    return { opened, request, refused, intent, git };
  } catch (error) {
    intent.letGo();
    await dropIntent(services.db.write, intent.id);
    throw error;
  }
}

interface Exchange extends Push {
  readonly input: Readable;
  readonly answer: PassThrough;
}

/** Sees a push through; nothing is thrown, as whoever asked for it has their answer already and watches that. */
async function carryOn(services: Services, { answer, ...push }: Exchange): Promise<void> {
  const { intent, git, input, opened, request, refused } = push;
  const { repository } = opened;
  try {
    const report = await follow({ answer, ...push });
    const done = intent.changes.filter(({ ref }) => report.changed.has(ref));
    await settle(services, { intent, repository, done });
    const problems = new Map([...report.problems, ...refused]);
    answer.write(encodeReport({ ...report, problems }, request.wishes));
    if (report.problems.size > 0) await repository.unlock([...report.problems.keys()]);
    // Git took in what it wanted, but the client may not have sent all of it.
    if (problems.size > 0) await drain(input, MOST_DRAINED);
    answer.end();
  } catch (error) {
    services.log.warn({ err: error, push: intent.id }, "a push came to no report");
    git.stop();
    await git.ended.catch(() => {});
    await leaveIntent(services.db.write, intent.id).catch(() => {});
    answer.destroy(new Error("The push came to no report"));
  } finally {
    intent.letGo();
  }
}

/** Hands git the objects and the client its progress, and gives the report once it is whole. */
async function follow({ git, input, request, answer }: Exchange): Promise<PushReport> {
  input.pipe(git.input);
  const stopWatching = finished(input, { writable: false }, (error) => error && git.stop());
  try {
    const report: Buffer[] = [];
    let bytes = 0;
    for (let data = await readPacket(git.output); data !== null; data = await readPacket(git.output)) {
      if (data[0] !== BANDS.report) {
        if (request.wishes.sideBand) await send(answer, packet(withoutPlaces(data)));
        continue;
      }
      report.push(data.subarray(1));
      bytes += data.length;
      if (bytes > MOST_OF_REPORT) throw new Error("the report of a push is too long");
    }
    git.output.resume();
    return parseReport(Buffer.concat(report));
  } finally {
    stopWatching();
    input.unpipe(git.input);
  }
}

async function send(answer: PassThrough, bytes: Buffer) {
  if (!answer.destroyed && !answer.write(bytes)) await firstEvent(answer, "drain", "close");
}
