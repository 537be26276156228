import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { boundedPasswords } from "#lib/passwords.ts";
import { type Figure, median, progress, short, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { type Running, startFairlead, temporaryDirectory } from "./support/processes.ts";

const AT_ONCE = 20;
const PASSWORD = "Nine-Knots-And-A-Splice";
/** Milliseconds between two looks at the event loop, which its delay is told with. */
const LOOKED_EVERY = 10;
/** Tries of each kind a round: with a right password in between, too few to lock an account. */
const TRIES = 8;

/** What signing in costs, what it does to everybody else, and whether its time tells which names exist. */
export async function signIn({ rounds, seconds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const token = `flpat-${randomBytes(24).toString("base64url")}`;
  await using server = await startFairlead(dir.path, {
    FAIRLEAD_DATA_DIR: join(dir.path, "data"),
    FAIRLEAD_RATE_LIMITS: "off",
    FAIRLEAD_ROOT_TOKEN: token,
  });
  progress("making people");
  const people = Array.from({ length: AT_ONCE }, (_, n) => `person-${n}`);
  for (const name of people) await makePerson(server, token, name);

  const hashing: number[] = [];
  const idle: number[] = [];
  const busy: number[] = [];
  const together: number[] = [];
  const known: number[] = [];
  const unknown: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (let n = 0; n < TRIES; n++) hashing.push(await timed(() => boundedPasswords(1).verify(PASSWORD, null)));
    await delayOf(server);
    await pause(seconds * 1000);
    idle.push(await delayOf(server));
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end)
      together.push(...(await Promise.all(people.map((name) => timed(() => ask(server, name, PASSWORD, 201))))));
    busy.push(await delayOf(server));
    const [name = ""] = people;
    for (let n = 0; n < TRIES; n++) {
      known.push(await timed(() => ask(server, name, "wrong", 401)));
      unknown.push(await timed(() => ask(server, "nobody", "wrong", 401)));
    }
    await ask(server, name, PASSWORD, 201);
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
        row(`a sign-in of ${AT_ONCE} at once`, together),
        row("event-loop delay p99, idle", idle),
        row(`event-loop delay p99, ${AT_ONCE} sign-ins at once`, busy),
        row("wrong password, known name", known),
        row("wrong password, unknown name", unknown),
      ],
    ),
  );
  console.log(`${short(median(hashing))} ms a hash (reported, no goal)`);
  return [
    {
      about: `event-loop delay p99 with ${AT_ONCE} at once`,
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

async function makePerson({ url }: Running, token: string, name: string) {
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
  if (response.status !== 201) throw new Error(`A person was not made: ${response.status} ${await response.text()}`);
}

async function ask({ url }: Running, login: string, password: string, expected: number) {
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

/** Milliseconds by which the server's event loop was late since it was last asked, 99 times of 100 at most. */
async function delayOf({ url }: Running): Promise<number> {
  const text = await (await fetch(`${url}/-/metrics`)).text();
  const [, delay] = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text) ?? [];
  if (delay === undefined) throw new Error("The server does not tell the delay of its event loop");
  return Math.max(Number(delay) * 1000 - LOOKED_EVERY, 0);
}
