import { readdirSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { resources } from "#resources/index.ts";
import { testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { startServer } from "#test/support/server.ts";
import { type Case, casesOf } from "./cases.ts";
import { type Answer, readAnswer } from "./client.ts";
import { type Judge, makeJudge } from "./judge.ts";
import { limitProblem } from "./limits.ts";
import { PASSWORD_CANARY } from "./marks.ts";
import { RAW_CASES, type RawCase, SLOW_CASES } from "./raw-cases.ts";
import { bytesOf } from "./request.ts";
import { seedOf } from "./seed.ts";
import { type Failure, shown, Tally } from "./tally.ts";
import { makeWorld } from "./world.ts";

/** What the process with a real server does beside the fixed cases. */
export interface SocketShare {
  /** Generated requests over a connection of their own, half of them with bytes changed. */
  readonly cases: number;
  readonly seed: number;
  readonly operations: string;
  /** Whether to wait for the slow clients to be given up. */
  readonly slow: boolean;
}

const PATIENCE = 5000;
/** How long a connection may stay open after its last answer before it is left. */
const QUIET = 40;
/** How long a request that may have been cut short waits for an answer before it says that nothing will follow. */
const PAUSE = 300;
const LONG_PAUSE = 3000;

interface Talk {
  readonly answers: readonly Answer[];
  readonly problem: string | undefined;
}

/** Sends bytes on a connection of their own and reads every answer to them. */
function talk(
  port: number,
  bytes: Buffer,
  wanted: number,
  { ends, patience = PATIENCE, pause: waits = PAUSE }: Pick<RawCase, "ends" | "patience"> & { readonly pause?: number },
): Promise<Talk> {
  const { promise, resolve } = Promise.withResolvers<Talk>();
  const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const answers: Answer[] = [];
  const method = bytes.toString("latin1").startsWith("HEAD ") ? "HEAD" : "GET";
  let received: Buffer = Buffer.alloc(0);
  let quiet: NodeJS.Timeout | undefined;
  const settle = (problem: string | undefined) => {
    clearTimeout(timer);
    clearTimeout(quiet);
    socket.destroy();
    resolve({ answers, problem });
  };
  const timer = setTimeout(() => settle(`no answer within ${patience / 1000} s`), patience);
  const read = (ended: boolean) => {
    for (let found = next(ended); found; found = next(ended)) {
      answers.push(found.answer);
      // What is no request has no method either, so its refusal may have a body where HEAD was asked.
      received = found.answer.closes ? Buffer.alloc(0) : received.subarray(found.length);
    }
    clearTimeout(quiet);
    if (answers.length >= wanted && received.length === 0) quiet = setTimeout(settle, QUIET, undefined);
  };
  const next = (ended: boolean) => (received.length === 0 ? undefined : readAnswer(received, method, ended));
  socket.on("data", (data: Buffer) => {
    received = Buffer.concat([received, data]);
    read(false);
  });
  socket.on("end", () => {
    read(true);
    settle(answers.length < wanted ? "the connection was closed without an answer" : undefined);
  });
  socket.on("error", (error) => {
    read(false);
    settle(answers.length < wanted ? `the connection broke: ${error.message}` : undefined);
  });
  socket.write(bytes);
  // Node closes the connection of a caller who says so with a request still unanswered.
  if (ends) setTimeout(() => answers.length === 0 && !socket.destroyed && socket.end(), waits);
  return promise;
}

const failure = (cause: string, about: string, bytes: Buffer, { answers, problem }: Talk): Omit<Failure, "count"> => ({
  ...{ cause, about, index: -1, request: shown(bytes) },
  answer:
    answers.map(({ status, body }) => `${status} ${body.toString("utf8").slice(0, 300)}`).join(" | ") ||
    (problem ?? ""),
});

async function runRaw(port: number, item: RawCase, judge: Judge, tally: Tally) {
  const { name, bytes, answers: wanted } = item;
  const said = await talk(port, bytes, wanted.length, item);
  const statuses = said.answers.map(({ status }) => status);
  const expected =
    wanted.every((allowed, index) => allowed.includes(statuses[index] ?? 0)) &&
    (item.more || statuses.length === wanted.length);
  const causes = said.answers.flatMap((answer) =>
    answer.status === 408 && item.patience ? [] : judge({ method: "GET" }, answer, undefined),
  );
  if (said.problem !== undefined) causes.push(said.problem);
  else if (!expected) {
    const hoped = wanted.map((allowed) => allowed.join(" or ")).join(", ");
    causes.push(`answers ${statuses.join(", ") || "none"} instead of ${hoped}`);
  }
  const failures = causes.map((cause) => failure(`${name}: ${cause}`, "raw request", bytes, said));
  tally.record("raw", statuses[0] ?? 0, undefined, failures);
}

/** A request with a few bytes changed, dropped or repeated anywhere. */
const damaged = (bytes: Buffer) =>
  fc
    .array(
      fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 }), fc.constantFrom("set", "drop", "double")),
      { minLength: 1, maxLength: 3 },
    )
    .map((damages) =>
      damages.reduce((left: Buffer, [place, byte, how]) => {
        const at = place % Math.max(left.length, 1);
        const middle = how === "set" ? Buffer.of(byte) : how === "drop" ? Buffer.alloc(0) : left.subarray(at, at + 20);
        return Buffer.concat([left.subarray(0, at), middle, left.subarray(how === "double" ? at : at + 1)]);
      }, bytes),
    );

async function runGenerated(
  port: number,
  item: Case,
  index: number,
  { seed }: SocketShare,
  judge: Judge,
  tally: Tally,
) {
  const whole = bytesOf(item.asked);
  const isWhole = index % 2 === 0;
  const bytes = isWhole ? whole : (fc.sample(damaged(whole), { seed: seedOf(seed, index), numRuns: 1 })[0] ?? whole);
  const first = await talk(port, bytes, 1, isWhole ? {} : { ends: true });
  // Maybe the answer was on its way when the caller said that nothing would follow.
  const isCutOff = !isWhole && first.answers.length === 0;
  const said = isCutOff ? await talk(port, bytes, 1, { ends: true, pause: LONG_PAUSE }) : first;
  const { nobody, asked } = item;
  const causes = said.answers.flatMap((answer) => judge({ method: asked.method, nobody }, answer, undefined));
  if (said.problem !== undefined) causes.push(said.problem);
  const about = `${isWhole ? "" : "damaged "}request to ${item.operation} by ${item.caller}`;
  tally.record(
    isWhole ? "over a socket" : "damaged",
    said.answers[0]?.status ?? 0,
    undefined,
    causes.map((cause) => failure(`over a socket: ${cause}`, about, bytes, said)),
  );
}

/** Clients who are gone before they are answered; nobody is there to see an answer, but the log tells of failures. */
async function leaveEarly(port: number, item: Case) {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.write(bytesOf(item.asked), () => socket.resetAndDestroy());
  await new Promise((resolve) => void socket.on("close", resolve));
}

/** Lets the worker in the server end what it is at: what it has taken apart must not come back under its hands. */
async function untilIdle(db: Db) {
  for (let tries = 0; tries < 100; tries++) {
    await sql`delete from jobs.job_common where state <> 'active'`.execute(db);
    const { rows } = await sql`select from jobs.job_common where state = 'active'`.execute(db);
    if (rows.length === 0) return;
    await pause(50);
  }
}

const HELD = 40;

/** Opens connections that get refused and are then held by the client; the server must let go of them all the same. */
async function holdRefused(port: number, pid: number): Promise<string | undefined> {
  const before = socketsOf(pid);
  const held = Array.from({ length: HELD }, () => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {}).on("data", () => {});
    socket.write("GARBAGE\r\n\r\n");
    return socket;
  });
  await pause(3000);
  const left = socketsOf(pid) - before;
  for (const socket of held) socket.destroy();
  return left > HELD / 2 ? `${left} of ${HELD} refused connections are kept open` : undefined;
}

function socketsOf(pid: number): number {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).filter((name) => linkOf(join(directory, name)).startsWith("socket:")).length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed since the directory was read.
    return "";
  }
}

/**
 * What the server may complain of: restoring the world takes jobs away from the worker that runs in it, and some who
 * leave early push.
 */
const EXPECTED = ['"LostJob"', '"a push came to no report"', "is running as root"];

/** Asks a server of its own process for what only real bytes can carry. */
async function runSocket(share: SocketShare, tally: Tally) {
  const databaseUrl = await freshDatabase();
  const app = await testApp({ databaseUrl });
  const world = await makeWorld(app);
  const server = await startServer({
    FAIRLEAD_DATABASE_URL: databaseUrl,
    FAIRLEAD_LOG_LEVEL: "warn",
    FAIRLEAD_TRUSTED_PROXIES: "127.0.0.1",
    // What the world has sealed is opened with the key that lies there.
    FAIRLEAD_DATA_DIR: app.services.config.dataDir,
    // Nothing listens there, so that no DNS server of the world outside is asked.
    FAIRLEAD_DNS_SERVERS: "127.0.0.1:1",
  });
  const port = Number(new URL(server.url).port);
  const judge = makeJudge(resources, world.secrets, world.code.hidden);
  const { random } = casesOf(resources, world, new RegExp(share.operations));
  const caseAt = (index: number) => fc.sample(random, { seed: seedOf(share.seed, -index), numRuns: 1 })[0] as Case;

  const unlimited = await limitProblem(databaseUrl);
  if (unlimited === undefined) tally.record("rate limit", 429, undefined, []);
  else amend(unlimited);
  const slow = share.slow ? SLOW_CASES.map((item) => runRaw(port, item, judge, tally)) : [];
  const isUp = () =>
    fetch(`${server.url}/-/readiness`).then(
      ({ status }) => status === 200,
      () => false,
    );
  for (const item of RAW_CASES) {
    await runRaw(port, item, judge, tally);
    if (await isUp()) continue;
    amend(`the server is gone after the raw request: ${item.name}`);
    break;
  }
  for (let index = 1; index <= share.cases && (index % 50 !== 1 || (await isUp())); index++) {
    await runGenerated(port, caseAt(index), index, share, judge, tally);
    if (index % 5 === 0) await leaveEarly(port, caseAt(index));
    if (index % 20 === 0) {
      await untilIdle(app.services.db.write);
      await world.restore();
    }
  }
  await Promise.all(slow);
  const stays = await isUp();
  if (!stays) amend("the server is gone");
  const kept = stays && process.platform === "linux" ? await holdRefused(port, server.pid) : undefined;
  if (kept !== undefined) amend(kept);
  await pause(500);
  const log = server.log();
  const warnings = log
    .split("\n")
    .filter((line) => line.startsWith('{"level"') && !EXPECTED.some((text) => line.includes(text)));
  for (const warning of new Set(warnings.map(withoutNumbers))) amend(`the server logs ${warning}`);
  if (log.includes(PASSWORD_CANARY) || log.includes("flpat-")) amend("the log holds a secret");
  const told = world.secrets.toldBy(log);
  if (told !== undefined) amend(`the log holds ${told}`);
  await server.stop();
  await app.close();
  return tally.outcome();

  function amend(cause: string) {
    tally.amend({ cause, index: -1, about: "the server of the sockets", request: "", answer: "" }, false);
  }
}

const withoutNumbers = (line: string) => line.slice(0, 600).replaceAll(/\d+|"(time|request_id)":"[^"]*"/g, "");

if (process.send) {
  const send = process.send.bind(process);
  const tally = new Tally();
  setInterval(() => void send({ done: tally.total }), 1000);
  const outcome = await runSocket(JSON.parse(process.argv[2] ?? "{}") as SocketShare, tally);
  send({ outcome }, () => process.exit(0));
}
