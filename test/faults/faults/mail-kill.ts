import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { doubledMail, hastyMail } from "#test/faults/jobs.ts";
import { startMailHarness, type MailHarness, type Delivery } from "#test/faults/mail-harness.ts";
import { until } from "#test/faults/supervisor.ts";

const WORKERS = 2;
const FLOW_TIMEOUT_MS = 60_000;
const SENT_TIMEOUT_MS = 180_000;
/** The longest time from the answer of the server to the end of the job. */
const JOB_END_MS = 2_000;

/** The mail server and the workers are killed while they send: no mail is lost, and one sent twice has a reason. */
export const mailKill: Fault = {
  name: "mail-kill",
  async run(cluster, times, messages) {
    const receiver = await makeReceiver(cluster);
    const rounds = 2 * times;
    const ids: string[] = [];
    return withMailHarness(cluster, WORKERS, async (harness) => {
      for (let round = 0; round < rounds; round++) {
        const count = Math.ceil((messages - ids.length) / (rounds - round));
        ids.push(...(await addMails(cluster, receiver, count)));
        // By then some mails are sent, and most are not.
        const enough = ids.length - (2 / 3) * count;
        await until("some of the mail", FLOW_TIMEOUT_MS, async () => (await harness.deliveries()).size >= enough);
        await (round % 2 === 0 ? harness.killServer() : harness.killWorker());
      }
      await allEnded(cluster, ids);
      const repeated = repeatsOf(await harness.deliveries());
      const unanswered = repeated.filter(({ answered }) => !answered).length;
      const twice = `${unanswered} came twice since the server died before it answered`;
      const unended = `${repeated.length - unanswered} since the worker or the connection died then`;
      const seen = `${ids.length} mails, server and workers killed ${times} times each; ${twice}, ${unended}`;
      return { count: rounds, seen, problems: await problemsOf(harness, ids) };
    });
  },

  controls: [
    {
      name: "a mail whose job ends before it is sent",
      sees: /was never sent/,
      run: (cluster) =>
        withMailHarness(cluster, 1, async (harness) => {
          const ids = await addPlanted(cluster, hastyMail);
          await allEnded(cluster, ids);
          await harness.killWorker();
          return problemsOf(harness, ids);
        }),
    },
    {
      name: "a mail that is sent again though nobody died",
      sees: /came again, and nobody had died/,
      run: (cluster) =>
        withMailHarness(cluster, 1, async (harness) => {
          const ids = await addPlanted(cluster, doubledMail);
          await allEnded(cluster, ids);
          return problemsOf(harness, ids);
        }),
    },
  ],
};

async function withMailHarness<T>(
  cluster: Cluster,
  workers: number,
  work: (harness: MailHarness) => Promise<T>,
): Promise<T> {
  const harness = await startMailHarness(cluster, workers);
  try {
    return await work(harness);
  } finally {
    await harness.close();
  }
}

async function makeReceiver({ engine }: Cluster): Promise<number> {
  const [user] = await engine.query<{ id: string }>(
    `with place as (insert into namespaces (path, name) values ($1, $1) returning id)
     insert into users (username, name, email, confirmed_at, namespace_id)
     select $1, $1, $1 || '@example.com', now(), id from place returning id`,
    [`receiver-${randomUUID().slice(0, 13)}`],
  );
  return Number(user?.id);
}

/** Queues mails in one transaction and returns the ids of their jobs, before a worker can see them. */
const added = ({ services: { db } }: Cluster, work: (tx: Tx) => Promise<void>): Promise<string[]> =>
  db.transaction(async (tx) => {
    await work(tx);
    const { rows } = await sql<{ id: string }>`
      select id from jobs.job where name = 'mail' and created_on >= now()`.execute(tx);
    return rows.map(({ id }) => id);
  });

const addMails = (cluster: Cluster, userId: number, count: number) =>
  added(cluster, async (tx) => {
    for (let turn = 0; turn < count; turn++) {
      await mailTo(cluster.services.jobs, tx, { kind: "password_changed", userId });
    }
  });

const addPlanted = (cluster: Cluster, job: typeof hastyMail) =>
  added(cluster, (tx) => cluster.services.jobs.add(tx, job, {}));

const allEnded = ({ engine }: Cluster, ids: readonly string[]) =>
  until("the end of all mail", SENT_TIMEOUT_MS, async () => {
    const left = "select from jobs.job where id = any($1::uuid[]) and name = 'mail' limit 1";
    return (await engine.query(left, [ids])).length === 0;
  });

/** All deliveries of each mail except the last. */
const repeatsOf = (deliveries: ReadonlyMap<string, readonly Delivery[]>): Delivery[] =>
  [...deliveries.values()].flatMap((all) => all.slice(0, -1));

/** Finds mails that were never delivered, or delivered again without a reason. */
async function problemsOf(harness: MailHarness, ids: readonly string[]): Promise<string[]> {
  const deliveries = await harness.deliveries();
  const lost = ids.filter((id) => !deliveries.has(id)).map((id) => `the mail ${id} was never sent`);
  const again = repeatsOf(deliveries)
    .filter((delivery) => !(delivery.answered ? brokeOff(delivery, harness.kills) : harness.kills.has(delivery.server)))
    .map(({ id }) => `the mail ${id} came again, and nobody had died`);
  const known = new Set(ids);
  const unknown = [...deliveries.keys()].filter((id) => !known.has(id)).map((id) => `nobody sent the mail ${id}`);
  return [...lost, ...again, ...unknown];
}

/** Whether the worker or the server was killed before the job could end. */
const brokeOff = ({ worker, server, at }: Delivery, kills: ReadonlyMap<string, number>): boolean =>
  [worker, server].some((name) => {
    const killed = kills.get(name) ?? Infinity;
    return killed >= at && killed - at < JOB_END_MS;
  });
