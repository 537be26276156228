import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { mailTo } from "#resources/mails/send.ts";
import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { doubledMail, hastyMail } from "#test/faults/jobs.ts";
import { openPostbox, type Postbox, type Taking } from "#test/faults/postbox.ts";
import { until } from "#test/faults/supervisor.ts";

const WORKERS = 2;
const FLOW_LIMIT = 60_000;
const SENT_LIMIT = 180_000;
/** A worker ends a job so soon after the server has answered, however busy the machine is. */
const SOON = 2_000;

/** The mail server and the workers die by `kill -9` while mail flows: none is lost, and what comes twice has its reason. */
export const mailKill: Fault = {
  name: "mail-kill",
  async run(cluster, times, messages) {
    const receiver = await makeReceiver(cluster);
    const rounds = 2 * times;
    const ids: string[] = [];
    return withPostbox(cluster, WORKERS, async (postbox) => {
      for (let round = 0; round < rounds; round++) {
        const count = Math.ceil((messages - ids.length) / (rounds - round));
        ids.push(...(await addMails(cluster, receiver, count)));
        // Some of it is sent then, and most is not.
        const enough = ids.length - (2 / 3) * count;
        await until("some of the mail", FLOW_LIMIT, async () => (await postbox.takings()).size >= enough);
        await (round % 2 === 0 ? postbox.killServer() : postbox.killWorker());
      }
      await allEnded(cluster, ids);
      const repeated = repeatsOf(await postbox.takings());
      const unanswered = repeated.filter(({ answered }) => !answered).length;
      const twice = `${unanswered} came twice since the server died before it answered`;
      const unended = `${repeated.length - unanswered} since the worker or the connection died then`;
      const seen = `${ids.length} mails, server and workers killed ${times} times each; ${twice}, ${unended}`;
      return { count: rounds, seen, problems: await problemsOf(postbox, ids) };
    });
  },

  controls: [
    {
      name: "a mail whose job ends before it is sent",
      sees: /was never sent/,
      run: (cluster) =>
        withPostbox(cluster, 1, async (postbox) => {
          const ids = await addPlanted(cluster, hastyMail);
          await allEnded(cluster, ids);
          await postbox.killWorker();
          return problemsOf(postbox, ids);
        }),
    },
    {
      name: "a mail that is sent again though nobody died",
      sees: /came again, and nobody had died/,
      run: (cluster) =>
        withPostbox(cluster, 1, async (postbox) => {
          const ids = await addPlanted(cluster, doubledMail);
          await allEnded(cluster, ids);
          return problemsOf(postbox, ids);
        }),
    },
  ],
};

async function withPostbox<T>(cluster: Cluster, workers: number, work: (postbox: Postbox) => Promise<T>): Promise<T> {
  const postbox = await openPostbox(cluster, workers);
  try {
    return await work(postbox);
  } finally {
    await postbox.close();
  }
}

async function makeReceiver({ engine }: Cluster): Promise<number> {
  const [user] = await engine.ask<{ id: string }>(
    `with place as (insert into namespaces (path, name) values ($1, $1) returning id)
     insert into users (username, name, email, confirmed_at, namespace_id)
     select $1, $1, $1 || '@example.com', now(), id from place returning id`,
    [`receiver-${randomUUID().slice(0, 13)}`],
  );
  return Number(user?.id);
}

/** Queues mails in one transaction and gives the ids of their jobs: no worker sees one before its id is known. */
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
  until("the end of all mail", SENT_LIMIT, async () => {
    const left = "select from jobs.job where id = any($1::uuid[]) and name = 'mail' limit 1";
    return (await engine.ask(left, [ids])).length === 0;
  });

/** Every time that a mail was taken, but for the last time. */
const repeatsOf = (takings: ReadonlyMap<string, readonly Taking[]>): Taking[] =>
  [...takings.values()].flatMap((all) => all.slice(0, -1));

/** What must not be: a mail that was never taken, or one that was taken again though the job could end. */
async function problemsOf(postbox: Postbox, ids: readonly string[]): Promise<string[]> {
  const takings = await postbox.takings();
  const lost = ids.filter((id) => !takings.has(id)).map((id) => `the mail ${id} was never sent`);
  const again = repeatsOf(takings)
    .filter((taking) => !(taking.answered ? brokeOff(taking, postbox.kills) : postbox.kills.has(taking.server)))
    .map(({ id }) => `the mail ${id} came again, and nobody had died`);
  const known = new Set(ids);
  const unknown = [...takings.keys()].filter((id) => !known.has(id)).map((id) => `nobody sent the mail ${id}`);
  return [...lost, ...again, ...unknown];
}

/** Whether the worker that was answered, or the server with the answer, died so soon that the job could not end. */
const brokeOff = ({ worker, server, at }: Taking, kills: ReadonlyMap<string, number>): boolean =>
  [worker, server].some((name) => {
    const killed = kills.get(name) ?? Infinity;
    return killed >= at && killed - at < SOON;
  });
