/** An honest caller, in a process of its own so that attackers do not distort its times. */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const INTERVAL_MS = 20;
const REQUEST_TIMEOUT_MS = 10_000;
const CLONE_TIMEOUT_MS = 30_000;

export interface HonestCaller {
  readonly url: string;
  readonly token: string;
  /** URLs of a repository, cloned in turn. */
  readonly clones: readonly string[];
  /** Where clones go. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Requests that use the connections of point reads, those of lists, and a transaction. */
const REQUESTS = [
  { method: "GET", path: "/user" },
  { method: "GET", path: "/projects?membership=true" },
  { method: "PUT", path: "/user/status", body: { message: "Working" } },
];

/** What the caller measured. */
export interface Experience {
  /** Milliseconds of each request. */
  readonly requests: readonly number[];
  /** Seconds of each clone. */
  readonly clones: readonly number[];
  readonly problems: readonly string[];
}

/** Starts a caller; stopping it returns what it measured. */
export function startHonestCaller(caller: HonestCaller): { stop(): Promise<Experience> } {
  const child = fork(import.meta.filename, [JSON.stringify(caller)]);
  return {
    async stop() {
      child.send("stop");
      const [experience] = (await once(child, "message")) as [Experience];
      await once(child, "exit");
      return experience;
    },
  };
}

async function call({ url, token, clones, directory, env }: HonestCaller, isStopped: () => boolean) {
  const requests: number[] = [];
  const cloned: number[] = [];
  const problems: string[] = [];
  const agent = new Agent({ keepAlive: true });

  const ask = async ({ method, path, body }: (typeof REQUESTS)[number]) => {
    const started = performance.now();
    const headers = { "private-token": token, ...(body && { "content-type": "application/json" }) };
    const sent = request(`${url}/api/v4${path}`, { agent, method, headers });
    sent.setTimeout(REQUEST_TIMEOUT_MS, () => sent.destroy(new Error("no answer in time")));
    sent.end(body && JSON.stringify(body));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    for await (const _ of answer);
    if (answer.statusCode !== 200) problems.push(`${method} ${path} answered ${answer.statusCode}`);
    requests.push(performance.now() - started);
  };
  const clone = async (address: string) => {
    const to = join(directory, `clone-${cloned.length}`);
    const started = performance.now();
    const child = spawn("git", ["clone", "--quiet", "--bare", address, to], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
      timeout: CLONE_TIMEOUT_MS,
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) problems.push(`a clone ended with ${code}: ${stderr.trim().slice(0, 200)}`);
    cloned.push((performance.now() - started) / 1000);
    await rm(to, { recursive: true, force: true });
  };

  const requesting = (async () => {
    while (!isStopped()) {
      for (const each of REQUESTS) {
        await ask(each).catch((error: unknown) => problems.push(`${each.method} ${each.path}: ${String(error)}`));
        await pause(INTERVAL_MS);
      }
    }
  })();
  for (let at = 0; !isStopped(); at++) await clone(clones[at % clones.length] ?? "");
  await requesting;
  agent.destroy();
  return { requests, clones: cloned, problems } satisfies Experience;
}

if (process.send) {
  const send = process.send.bind(process);
  let stopped = false;
  process.once("message", () => (stopped = true));
  const caller = JSON.parse(process.argv[2] ?? "{}") as HonestCaller;
  send(await call(caller, () => stopped), () => process.exit(0));
}
