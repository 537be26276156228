import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Db } from "#db/database.ts";
import { defineJob } from "#jobs/define.ts";
import type { Services } from "#services.ts";

/** Where the first attempt pauses, relative to its effect; it records that in the ledger. */
export type Hold = "nowhere" | "before" | "inside" | "after";

const Payload = Type.Object({
  key: Type.String(),
  hold: Type.Enum(["nowhere", "before", "inside", "after"]),
  milliseconds: Type.Integer(),
});
type HeldPayload = Static<typeof Payload>;

const note = ({ db }: Services, key: string, attempt: number, stage: string) =>
  sql`insert into fault_attempts values (${key}, ${attempt}, ${process.pid}, ${stage})`.execute(db.write);

const effect = (db: Db, key: string, attempt: number) =>
  sql`insert into fault_effects values (${key}, ${attempt}, ${process.pid})`.execute(db);

/** Pauses the first attempt here and ignores its signal, like a process that does not know that it lost its job. */
async function hold({ db }: Services, { key, hold: place, milliseconds }: HeldPayload, attempt: number, here: Hold) {
  if (place !== here) return;
  const { numAffectedRows } = await sql`
    insert into fault_attempts select ${key}, ${attempt}, ${process.pid}, ${here}
    where not exists (select from fault_attempts where key = ${key} and stage = ${here})`.execute(db.write);
  if (numAffectedRows === 1n) await sleep(milliseconds);
}

const holdingJob = (queue: "default" | "git") =>
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
export const quickJob = holdingJob("default");
/** Fetched one at a time. */
export const slowJob = holdingJob("git");

/** A planted defect: the effect is not in the transaction that ends the job. */
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
  backoff: { first: 1, max: 1 },
  async run({ payload, services, attempt }) {
    await note(services, payload.key, attempt, "started");
    throw new Error("poison");
  },
});

/** A planted defect: the job ends before the mail is sent. */
export const hastyMail = defineJob({
  name: "faults.hasty_mail",
  queue: "mail",
  payload: Type.Object({}),
  async run({ id, services, transaction }) {
    await transaction(async () => {});
    await sleep(SEND_DELAY_MS);
    await services.mail.send(letter(id));
  },
});

/** A planted defect: the mail is sent twice without a fault. */
export const doubledMail = defineJob({
  name: "faults.doubled_mail",
  queue: "mail",
  payload: Type.Object({}),
  async run({ id, services }) {
    await services.mail.send(letter(id));
    await services.mail.send(letter(id));
  },
});

const SEND_DELAY_MS = 5_000;
const letter = (id: string) => ({ id, to: "somebody@example.com", subject: "Mail", paragraphs: ["Hello."] });

export type Job = typeof slowJob;
export const jobs = [quickJob, slowJob, carelessJob, poisonJob, hastyMail, doubledMail];
