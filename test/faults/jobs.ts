import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Db } from "#db/database.ts";
import { defineJob } from "#jobs/define.ts";
import type { Services } from "#services.ts";

/** Where an attempt stands still for the harness, seen from the effect; it says so in the ledger. */
export type Hold = "nowhere" | "before" | "inside" | "after";

const Payload = Type.Object({
  key: Type.String(),
  hold: Type.Enum(["nowhere", "before", "inside", "after"]),
  milliseconds: Type.Integer(),
});
type Work = Static<typeof Payload>;

const note = ({ db }: Services, key: string, attempt: number, stage: string) =>
  sql`insert into fault_attempts values (${key}, ${attempt}, ${process.pid}, ${stage})`.execute(db.write);

const effect = (db: Db, key: string, attempt: number) =>
  sql`insert into fault_effects values (${key}, ${attempt}, ${process.pid})`.execute(db);

/** Holds the first attempt that comes here, and looks at no signal: one that lost its job must do no harm unknowingly. */
async function hold({ db }: Services, { key, hold: place, milliseconds }: Work, attempt: number, here: Hold) {
  if (place !== here) return;
  const { numAffectedRows } = await sql`
    insert into fault_attempts select ${key}, ${attempt}, ${process.pid}, ${here}
    where not exists (select from fault_attempts where key = ${key} and stage = ${here})`.execute(db.write);
  if (numAffectedRows === 1n) await sleep(milliseconds);
}

const careful = (queue: "default" | "git") =>
  defineJob({
    name: `faults.${queue}`,
    queue,
    payload: Payload,
    async run({ payload, services, attempt, transaction }) {
      await note(services, payload.key, attempt, "started");
      await hold(services, payload, attempt, "before");
      await transaction(async (tx) => {
        await effect(tx, payload.key, attempt);
        await hold(services, payload, attempt, "inside");
      }).finally(() => note(services, payload.key, attempt, "ended"));
    },
  });

export const POISON_ATTEMPTS = 3;

/** Fetched many at once, as short jobs are. */
export const quickJob = careful("default");
/** Fetched one at a time. */
export const slowJob = careful("git");

/** What a job must not be: its effect is not in the transaction that ends it. */
export const carelessJob = defineJob({
  name: "faults.careless",
  queue: "bulk",
  payload: Payload,
  async run({ payload, services, attempt }) {
    await note(services, payload.key, attempt, "started");
    await hold(services, payload, attempt, "before");
    await effect(services.db.write, payload.key, attempt);
    await hold(services, payload, attempt, "after");
    await note(services, payload.key, attempt, "ended");
  },
});

/** Never succeeds. */
export const poisonJob = defineJob({
  name: "faults.poison",
  queue: "default",
  payload: Payload,
  retries: POISON_ATTEMPTS - 1,
  backoff: { first: 1, most: 1 },
  async run({ payload, services, attempt }) {
    await note(services, payload.key, attempt, "started");
    throw new Error("poison");
  },
});

/** What a mail must not be: ended before it is sent. */
export const hastyMail = defineJob({
  name: "faults.hasty_mail",
  queue: "mail",
  payload: Type.Object({}),
  async run({ id, services, transaction }) {
    await transaction(async () => {});
    await sleep(HASTE);
    await services.mail.send(letter(id));
  },
});

/** Nor this: sent again by a worker that nothing happened to. */
export const doubledMail = defineJob({
  name: "faults.doubled_mail",
  queue: "mail",
  payload: Type.Object({}),
  async run({ id, services }) {
    await services.mail.send(letter(id));
    await services.mail.send(letter(id));
  },
});

const HASTE = 5_000;
const letter = (id: string) => ({ id, to: "somebody@example.com", subject: "Mail", paragraphs: ["Hello."] });

export type Job = typeof slowJob;
export const jobs = [quickJob, slowJob, carelessJob, poisonJob, hastyMail, doubledMail];
