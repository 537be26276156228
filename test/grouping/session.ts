import { hash } from "node:crypto";
import { sql } from "kysely";
import { type Receiver, receivingApp, post } from "#domains/monitoring/alert-ingestion/test-support.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import type { Outcome } from "#test/support/campaign.ts";
import { type Random, randomOf } from "#test/support/random.ts";

const PROJECTS = 4;
const FINGERPRINTS = 5;
/** Alerts that are worked on at the same time. */
const KEYS_AT_ONCE = 8;
const MAX_BURST = 12;
const STATUSES = ["triggered", "acknowledged", "resolved", "ignored"] as const;
type Status = (typeof STATUSES)[number];

/** What the model knows of one alert. */
interface Known {
  status: Status;
  reports: number;
}

/** One fingerprint in one project: its alerts, oldest first. */
interface Key {
  readonly to: Receiver;
  readonly fingerprint: string;
  alerts: Known[];
}

interface Stored extends Known {
  readonly iid: number;
}

interface Session {
  readonly apps: readonly [TestApp, TestApp];
  readonly random: Random;
  readonly problems: string[];
  readonly tally: { requests: number; writes: number };
}

/** Sends so many requests, and compares what is stored with the model after each round. */
export async function runSession(databaseUrl: string, seed: number, steps: number): Promise<Outcome> {
  const on = await receivingApp({ databaseUrl });
  const other = await testApp({ databaseUrl });
  const session: Session = {
    ...{ apps: [on.app, other], random: randomOf(seed), problems: [] },
    tally: { requests: 0, writes: 0 },
  };
  try {
    const keys = await makeKeys(on);
    while (session.tally.requests < steps && session.problems.length === 0) {
      const chosen = new Set(Array.from({ length: KEYS_AT_ONCE }, () => session.random.pick(keys)));
      await Promise.all([...chosen].map((key) => useKey(session, key)));
      await checkNumbers(session);
    }
  } finally {
    await other.close();
    await on.app.close();
  }
  return { ...session.tally, problems: session.problems };
}

async function makeKeys({ receiver }: Awaited<ReturnType<typeof receivingApp>>): Promise<Key[]> {
  const keys: Key[] = [];
  for (let project = 0; project < PROJECTS; project++) {
    const to = await receiver();
    for (let at = 0; at < FINGERPRINTS; at++) keys.push({ to, fingerprint: `f${at}`, alerts: [] });
  }
  return keys;
}

const ACTIONS = ["report", "burst", "recovery", "by hand", "race"] as const;

async function useKey(session: Session, key: Key) {
  const action = session.random.pick(ACTIONS);
  const before = key.alerts.map((alert) => ({ ...alert }));
  const open = key.alerts.find(({ status }) => status !== "resolved");
  if (action === "by hand") await setByHand(session, key, open);
  else if (action === "race") await race(session, key);
  else if (action === "recovery") {
    await send(session, key, [true]);
    if (open) open.status = "resolved";
  } else {
    const count = action === "burst" ? 2 + session.random.below(MAX_BURST) : 1;
    await send(
      session,
      key,
      Array.from({ length: count }, () => false),
    );
    if (open) open.reports += count;
    else key.alerts.push({ status: "triggered", reports: count });
  }
  const stored = await storedOf(session, key);
  if (shown(stored) === shown(key.alerts)) return;
  session.problems.push(
    `${action} of ${key.fingerprint} after ${shown(before)}: ${shown(stored)}, not ${shown(key.alerts)}`,
  );
}

const shown = (alerts: readonly Known[]) =>
  alerts.map(({ status, reports }) => `${status} ${reports}`).join(", ") || "none";

/** Sends reports and recoveries at once, through both processes, and returns how many alerts each answer names. */
async function send(
  { apps, random, problems, tally }: Session,
  { to, fingerprint }: Key,
  recoveries: readonly boolean[],
) {
  const answers = await Promise.all(
    recoveries.map((isRecovery) => {
      const payload = { title: "Grouped", fingerprint, ...(isRecovery && { end_time: "2026-05-04T11:00:00Z" }) };
      return post(random.pick(apps), to.path, `Bearer ${to.key}`, payload);
    }),
  );
  tally.requests += answers.length;
  for (const { status, body, text } of answers) {
    if (status === 200) tally.writes += body.length;
    else problems.push(`${status} ${text}`);
  }
  return answers.map(({ body }) => body.length as number);
}

/** Reports and recoveries at once: any order is right, so only what holds in all of them is expected. */
async function race(session: Session, key: Key) {
  const recoveries = Array.from({ length: 2 + session.random.below(MAX_BURST) }, () => session.random.chance(0.3));
  const named = await send(session, key, recoveries);
  const reports = recoveries.filter((isRecovery) => !isRecovery).length;
  const ended = named.filter((count, at) => recoveries[at] && count > 0).length;
  const stored = await storedOf(session, key);
  const sum = (alerts: readonly Known[]) => alerts.reduce((total, alert) => total + alert.reports, 0);
  const unresolved = stored.filter(({ status }) => status !== "resolved").length;
  const newlyResolved = stored.length - unresolved - key.alerts.filter(({ status }) => status === "resolved").length;
  const problem =
    (unresolved > 1 && `${unresolved} unresolved alerts`) ||
    (sum(stored) !== sum(key.alerts) + reports && `${sum(stored)} reports counted, not ${sum(key.alerts) + reports}`) ||
    // Two recoveries that one statement writes end the same alert.
    (newlyResolved > ended && `${newlyResolved} alerts ended by ${ended} recoveries`);
  if (problem) session.problems.push(`race of ${recoveries.length} for ${key.fingerprint}: ${problem}`);
  key.alerts = stored.map(({ status, reports: counted }) => ({ status, reports: counted }));
}

/** What a person does with an alert; a new one is left alone. */
async function setByHand({ apps: [app], random, tally }: Session, key: Key, open: Known | undefined) {
  if (!open) return;
  open.status = random.pick(STATUSES);
  await sql`
    update alerts set status = ${STATUSES.indexOf(open.status)},
      ended_at = ${open.status === "resolved" ? sql`now()` : null}
    where project_id = ${key.to.project} and fingerprint = ${digestOf(key)} and status <> 2`.execute(
    app.services.db.write,
  );
  tally.requests++;
  tally.writes++;
}

const digestOf = ({ fingerprint }: Key) => hash("sha256", fingerprint, "buffer");

async function storedOf({ apps: [app] }: Session, key: Key): Promise<Stored[]> {
  const { rows } = await sql<{ iid: number; status: number; event_count: number }>`
    select iid, status, event_count from alerts
    where project_id = ${key.to.project} and fingerprint = ${digestOf(key)} order by iid`.execute(
    app.services.db.write,
  );
  return rows.map(({ iid, status, event_count }) => ({
    iid,
    status: STATUSES[status] ?? "triggered",
    reports: event_count,
  }));
}

async function checkNumbers({ apps: [app], problems }: Session) {
  const { rows } = await sql<{ iid: number }>`
    select iid from alerts group by project_id, iid having count(*) > 1 limit 1`.execute(app.services.db.write);
  if (rows[0]) problems.push(`two alerts of a project have the number ${rows[0].iid}`);
}
