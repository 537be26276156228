import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { boundedPasswords } from "#lib/passwords.ts";
import { type Figure, median, progress, short, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { type Running, startFairlead, temporaryDirectory } from "./support/processes.ts";

const CONCURRENT = 20;
const PASSWORD = "Nine-Knots-And-A-Splice";
/** The sampling interval of the event loop, which its reported delay includes. */
const SAMPLE_INTERVAL_MS = 10;
/** Attempts of each kind per round: with a right password in between, too few to lock an account. */
const ATTEMPTS = 8;

/** The cost of signing in, its effect on others, and whether its duration reveals which names exist. */
export async function signIn({ rounds, seconds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const token = `flpat-${randomBytes(24).toString("base64url")}`;
  await using server = await startFairlead(dir.path, {
    FAIRLEAD_DATA_DIR: join(dir.path, "data"),
    FAIRLEAD_RATE_LIMITS: "off",
    FAIRLEAD_ROOT_TOKEN: token,
  });
  progress("creating users");
  const users = Array.from({ length: CONCURRENT }, (_, n) => `user-${n}`);
  for (const name of users) await createUser(server, token, name);

  const hashing: number[] = [];
  const idle: number[] = [];
  const busy: number[] = [];
  const together: number[] = [];
  const known: number[] = [];
  const unknown: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (let n = 0; n < ATTEMPTS; n++) hashing.push(await timed(() => boundedPasswords(1).verify(PASSWORD, null)));
    await delayOf(server);
    await pause(seconds * 1000);
    idle.push(await delayOf(server));
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end)
      together.push(...(await Promise.all(users.map((name) => timed(() => trySignIn(server, name, PASSWORD, 201))))));
    busy.push(await delayOf(server));
    const [name = ""] = users;
    for (let n = 0; n < ATTEMPTS; n++) {
      known.push(await timed(() => trySignIn(server, name, "wrong", 401)));
      unknown.push(await timed(() => trySignIn(server, "nobody", "wrong", 401)));
    }
    await trySignIn(server, name, PASSWORD, 201);
  }

  const row = (what: string, values: readonly number[]) => [
    what,
    median(values),
    Math.min(...values),
    Math.max(...values),
  ];
  console.log(
    table(
      ["milliseconds", "median", "least", "most"],
      [
        row("one hash", hashing),
        row(`a sign-in of ${CONCURRENT} at once`, together),
        row("event-loop delay p99, idle", idle),
        row(`event-loop delay p99, ${CONCURRENT} sign-ins at once`, busy),
        row("wrong password, known name", known),
        row("wrong password, unknown name", unknown),
      ],
    ),
  );
  console.log(`${short(median(hashing))} ms a hash (reported, no goal)`);
  return [
    {
      about: `event-loop delay p99 with ${CONCURRENT} at once`,
      value: median(busy),
      unit: " ms",
      bound: "at most",
      goal: 20,
    },
    {
      about: "apart in time, known and unknown names",
      value: Math.abs(median(unknown) / median(known) - 1),
      bound: "at most",
      goal: 0.1,
    },
  ];
}

async function createUser({ url }: Running, token: string, name: string) {
  const response = await fetch(`${url}/api/v4/users`, {
    method: "POST",
    headers: { "private-token": token, "content-type": "application/json" },
    body: JSON.stringify({
      username: name,
      name,
      email: `${name}@example.com`,
      password: PASSWORD,
      skip_confirmation: true,
    }),
  });
  if (response.status !== 201) throw new Error(`A user was not created: ${response.status} ${await response.text()}`);
}

async function trySignIn({ url }: Running, login: string, password: string, expected: number) {
  const response = await fetch(`${url}/api/v4/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ login, password }),
  });
  const text = await response.text();
  if (response.status !== expected) throw new Error(`${login} was answered ${response.status} ${text}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** The 99th percentile of the event-loop delay since the last call, in milliseconds. */
async function delayOf({ url }: Running): Promise<number> {
  const text = await (await fetch(`${url}/-/metrics`)).text();
  const [, delay] = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text) ?? [];
  if (delay === undefined) throw new Error("The server does not report the delay of its event loop");
  return Math.max(Number(delay) * 1000 - SAMPLE_INTERVAL_MS, 0);
}
