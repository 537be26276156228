import { readdirSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { resources } from "#domains/index.ts";
import { testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { startServer } from "#test/support/server.ts";
import { type Case, casesOf } from "./cases.ts";
import { type Answer, readAnswer } from "./client.ts";
import { type Judge, makeJudge } from "./judge.ts";
import { limitProblem } from "./limits.ts";
import { isExpectedOfServer } from "./log-reader.ts";
import { PASSWORD_CANARY } from "./marks.ts";
import { RAW_CASES, type RawCase, SLOW_CASES } from "./raw-cases.ts";
import { bytesOf } from "./request.ts";
import { seedOf } from "./seed.ts";
import { type Failure, shown, Tally } from "./tally.ts";
import { makeWorld } from "./world.ts";

/** The task of the process with a real server, besides the fixed cases. */
export interface SocketTask {
  /** Generated requests, each on its own connection, half of them with changed bytes. */
  readonly cases: number;
  readonly seed: number;
  readonly operations: string;
  /** Whether to wait until slow clients are disconnected. */
  readonly slow: boolean;
}

const TIMEOUT_MS = 5000;
/** How long a connection may stay open after its last response before the client closes it. */
const IDLE_MS = 40;
/** How long to wait for the response to a possibly incomplete request before the client ends its side. */
const PAUSE_MS = 300;
const LONG_PAUSE_MS = 3000;

interface Conversation {
  readonly answers: readonly Answer[];
  readonly problem: string | undefined;
}

/** Sends bytes on their own connection and reads every response. */
function talk(
  port: number,
  bytes: Buffer,
  wanted: number,
  {
    ends,
    patience = TIMEOUT_MS,
    pause: waits = PAUSE_MS,
  }: Pick<RawCase, "ends" | "patience"> & { readonly pause?: number },
): Promise<Conversation> {
  const { promise, resolve } = Promise.withResolvers<Conversation>();
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
      // Invalid bytes have no method, so the refusal may have a body although HEAD was sent.
      received = found.answer.closes ? Buffer.alloc(0) : received.subarray(found.length);
    }
    clearTimeout(quiet);
    if (answers.length >= wanted && received.length === 0) quiet = setTimeout(settle, IDLE_MS, undefined);
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
  // Node closes the connection of a client that ends its side before the response.
  if (ends) setTimeout(() => answers.length === 0 && !socket.destroyed && socket.end(), waits);
  return promise;
}

const failure = (
  cause: string,
  about: string,
  bytes: Buffer,
  { answers, problem }: Conversation,
): Omit<Failure, "count"> => ({
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

async function runGenerated(port: number, item: Case, index: number, { seed }: SocketTask, judge: Judge, tally: Tally) {
  const whole = bytesOf(item.asked);
  const isWhole = index % 2 === 0;
  const bytes = isWhole ? whole : (fc.sample(damaged(whole), { seed: seedOf(seed, index), numRuns: 1 })[0] ?? whole);
  const first = await talk(port, bytes, 1, isWhole ? {} : { ends: true });
  // The response may have been on its way when the client ended its side.
  const isCutOff = !isWhole && first.answers.length === 0;
  const said = isCutOff ? await talk(port, bytes, 1, { ends: true, pause: LONG_PAUSE_MS }) : first;
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

/** Clients that disconnect before the response; only the log shows failures. */
async function disconnectEarly(port: number, item: Case) {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.write(bytesOf(item.asked), () => socket.resetAndDestroy());
  await new Promise((resolve) => void socket.on("close", resolve));
}

/** Waits until the worker of the server is idle, so that no row is restored while a job deletes it. */
async function untilIdle(db: Db) {
  for (let tries = 0; tries < 100; tries++) {
    await sql`delete from jobs.job_common where state <> 'active'`.execute(db);
    const { rows } = await sql`select from jobs.job_common where state = 'active'`.execute(db);
    if (rows.length === 0) return;
    await pause(50);
  }
}

const REFUSED_CONNECTIONS = 40;

/** Opens connections that are refused and that the client keeps open; the server must close them. */
async function openRefusedConnections(port: number, pid: number): Promise<string | undefined> {
  const before = socketsOf(pid);
  const held = Array.from({ length: REFUSED_CONNECTIONS }, () => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {}).on("data", () => {});
    socket.write("GARBAGE\r\n\r\n");
    return socket;
  });
  await pause(3000);
  const left = socketsOf(pid) - before;
  for (const socket of held) socket.destroy();
  return left > REFUSED_CONNECTIONS / 2
    ? `${left} of ${REFUSED_CONNECTIONS} refused connections are kept open`
    : undefined;
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

/** Sends raw bytes to a server in another process. */
async function runSocket(task: SocketTask, tally: Tally) {
  const databaseUrl = await freshDatabase();
  const app = await testApp({ databaseUrl });
  const world = await makeWorld(app);
  const server = await startServer({
    FAIRLEAD_DATABASE_URL: databaseUrl,
    FAIRLEAD_LOG_LEVEL: "warn",
    FAIRLEAD_TRUSTED_PROXIES: "127.0.0.1",
    // The sealing key of the test data is in this directory.
    FAIRLEAD_DATA_DIR: app.services.config.dataDir,
    // Nothing listens there, so that no real DNS server is queried.
    FAIRLEAD_DNS_SERVERS: "127.0.0.1:1",
  });
  const port = Number(new URL(server.url).port);
  const judge = makeJudge(resources, world.secrets, world.code.hidden);
  const { random } = casesOf(resources, world, new RegExp(task.operations));
  const caseAt = (index: number) => fc.sample(random, { seed: seedOf(task.seed, -index), numRuns: 1 })[0] as Case;

  const unlimited = await limitProblem(databaseUrl);
  if (unlimited === undefined) tally.record("rate limit", 429, undefined, []);
  else amend(unlimited);
  const slow = task.slow ? SLOW_CASES.map((item) => runRaw(port, item, judge, tally)) : [];
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
  for (let index = 1; index <= task.cases && (index % 50 !== 1 || (await isUp())); index++) {
    await runGenerated(port, caseAt(index), index, task, judge, tally);
    if (index % 5 === 0) await disconnectEarly(port, caseAt(index));
    if (index % 20 === 0) {
      await untilIdle(app.services.db.write);
      await world.restore();
    }
  }
  await Promise.all(slow);
  const stays = await isUp();
  if (!stays) amend("the server is gone");
  const kept = stays && process.platform === "linux" ? await openRefusedConnections(port, server.pid) : undefined;
  if (kept !== undefined) amend(kept);
  await pause(500);
  const log = server.log();
  const warnings = log
    .split("\n")
    .filter((line) => line.startsWith('{"level"') && line.endsWith("}") && !isExpectedOfServer(line));
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
  const outcome = await runSocket(JSON.parse(process.argv[2] ?? "{}") as SocketTask, tally);
  send({ outcome }, () => process.exit(0));
}
