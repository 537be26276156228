import { sql } from "kysely";
import type { Logger } from "pino";
import type { Db, Tx } from "#db/database.ts";
import type { RefChange } from "#git/push-commands.ts";
import type { Services } from "#services.ts";
import type { Changing } from "./rules.ts";

/** Changes of refs that were written down before git was let on. */
export interface Intent {
  readonly id: number;
  readonly project_id: number;
  /** Who they are told of; null once that user is gone. */
  readonly user_id: number | null;
  /** The deploy key that made them. */
  readonly key_id: number | null;
  readonly created_at: string;
  readonly changes: readonly RefChange[];
}

/** One that this process works on, and says so until it is let go. */
export interface HeldIntent extends Intent {
  letGo(): void;
}

/** One whose process died, or lost sight of it. */
export interface LeftIntent extends Intent {
  /** Whether git cannot be at work on it any more. */
  readonly over: boolean;
  /** Whether somebody else is about to change one of its refs from where it was: what is seen could be their work. */
  readonly contested: boolean;
}

const RENEWED_EVERY = 5_000;
const MOST_CLAIMED = 20;

/** Writes down what is about to be changed, in a transaction of its own. */
export async function holdIntent(
  { db, log }: Pick<Services, "db" | "log">,
  { caller, project }: Changing,
  changes: readonly RefChange[],
): Promise<HeldIntent> {
  if (caller.kind === "anonymous") throw new TypeError("Nobody pushes without a name");
  const told =
    caller.kind === "user"
      ? { user_id: caller.user.id, key_id: null }
      : { user_id: caller.key.user_id, key_id: caller.key.id };
  const row = await db.write
    .insertInto("pushes")
    .values({ project_id: project.id, ...told, ...columnsOf(changes) })
    .returning(["id", "created_at"])
    .executeTakeFirstOrThrow();
  const timer = setInterval(() => void renew(db.write, log, row.id), RENEWED_EVERY).unref();
  return { ...row, ...told, project_id: project.id, changes, letGo: () => clearInterval(timer) };
}

async function renew(db: Db, log: Logger, id: number) {
  try {
    await sql`update pushes set held_until = now() + interval '15 seconds' where id = ${id}`.execute(db);
  } catch (error) {
    log.warn({ err: error, push: id }, "could not say that a push goes on");
  }
}

/** Ends an intent of which nothing happened. */
export const dropIntent = (db: Db, id: number) => db.deleteFrom("pushes").where("id", "=", id).execute();

/** Hands an intent on whose git has ended without a word, to be looked at soon and for the last time. */
export const leaveIntent = (db: Db, id: number) =>
  sql`update pushes set held_until = now(), left_at = now() - interval '10 minutes' where id = ${id}`.execute(db);

/**
 * Takes an intent out of the table, or leaves of it what has not happened yet. Undefined if it is not there any more;
 * `left` where somebody else may have told a part of it already.
 */
export async function takeIntent(tx: Tx, id: number, rest: readonly RefChange[]) {
  const { rows } = await (
    rest.length === 0
      ? sql<{ left: boolean }>`delete from pushes where id = ${id} returning left_at is not null as left`
      : sql<{ left: boolean }>`
        update pushes set refs = ${rest.map(({ ref }) => ref)}, old_ids = ${rest.map(({ oldId }) => oldId)},
          new_ids = ${rest.map(({ newId }) => newId)}
        where id = ${id} returning left_at is not null as left`
  ).execute(tx);
  return rows[0];
}

/**
 * Claims intents that nobody works on: at first after ten seconds and then ever more seldom they can be claimed again,
 * as git may live on for a while after the process that started it.
 */
export async function claimLeft(db: Db): Promise<LeftIntent[]> {
  const { rows } = await sql<Omit<LeftIntent, "changes"> & { refs: string[]; old_ids: string[]; new_ids: string[] }>`
    update pushes p
    set left_at = coalesce(p.left_at, now()),
      held_until = now() + interval '10 seconds' + (now() - coalesce(p.left_at, now())) / 2
    from (
      select id from pushes where held_until < now()
      order by held_until limit ${sql.lit(MOST_CLAIMED)} for update skip locked
    ) due
    where p.id = due.id
    returning p.id, p.project_id, p.user_id, p.key_id, p.created_at, p.refs, p.old_ids, p.new_ids,
      p.left_at <= now() - interval '10 minutes' as over,
      exists (
        select from pushes o
        where o.project_id = p.project_id and o.id <> p.id and o.left_at is null and o.held_until > now()
          and o.refs && p.refs and o.old_ids && p.old_ids
      ) as contested`.execute(db);
  return rows.map(({ refs, old_ids, new_ids, ...row }) => ({
    ...row,
    changes: refs.map((ref, at) => ({ ref, oldId: old_ids[at] ?? "", newId: new_ids[at] ?? "" })),
  }));
}

const columnsOf = (changes: readonly RefChange[]) => ({
  refs: changes.map(({ ref }) => ref),
  old_ids: changes.map(({ oldId }) => oldId),
  new_ids: changes.map(({ newId }) => newId),
});
