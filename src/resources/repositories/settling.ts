import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { refusalOf } from "#db/errors.ts";
import { isRemoval, type RefChange } from "#git/push-commands.ts";
import { ZERO_ID } from "#git/refs.ts";
import { GitFailed, type Repository } from "#git/storages/storage.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import { describePush, recordPush, untold } from "#resources/events/record.ts";
import { ghostUser } from "#resources/users/ghost.ts";
import type { Services } from "#services.ts";
import { adoptDefaultBranch, wantedDefaultBranch } from "./default-branch.ts";
import { claimLeft, dropIntent, type Intent, type LeftIntent, takeIntent } from "./intents.ts";
import { notePush } from "./maintenance.ts";
import { repositoryOf } from "./place.ts";
import { readmeAfter } from "./readme.ts";

const EVERY = 5_000;
const MOST_TRIES = 3;
/** Of a push of more refs than this only those count as changed that are exactly where it put them. */
const MOST_ANCESTORS = 100;

/** What a push came to. */
interface Outcome {
  readonly intent: Intent;
  readonly repository: Repository;
  /** What git did. */
  readonly done: readonly RefChange[];
}

/** Makes events of what git did, and ends the intent: both or neither. */
export async function settle(services: Services, outcome: Outcome): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      if (outcome.done.length === 0) await dropIntent(services.db.write, outcome.intent.id);
      // Whoever found it left may have told a part, or all of it.
      else await tell(services, outcome, [], (row) => (row && !row.left ? "all" : "untold"));
      return;
    } catch (error) {
      // What git did is done: a moment's trouble with the database should not cost its client the answer.
      if (tries === MOST_TRIES || !refusalOf(error)) throw error;
      await sleep(tries * 500);
    }
  }
}

/** The same of what was found in a repository; what was not stays an intent, unless git cannot be at it any more. */
async function settleFound(services: Services, outcome: Outcome, over: boolean) {
  const rest = over ? [] : outcome.intent.changes.filter((change) => !outcome.done.includes(change));
  await tell(services, outcome, rest, (row) => (row ? "untold" : "none"));
}

async function tell(
  services: Services,
  { intent, repository, done }: Outcome,
  rest: readonly RefChange[],
  which: (row: Awaited<ReturnType<typeof takeIntent>>) => "all" | "untold" | "none",
) {
  const project = await placeOf(services, intent.project_id);
  if (!project) return;
  const events = await describePush(repository, project.default_branch, done);
  const branch = await wantedDefaultBranch(repository, project.default_branch, done);
  // No tree that somebody pushed, however large, may keep a push from being told.
  const readme = await readmeAfter(repository, branch ?? project.default_branch, done).catch(() => undefined);
  // Packing may remove what is being measured; the next push measures again.
  const size = await repository.size().catch(() => undefined);
  await services.db.transaction(async (tx) => {
    // The first statement, as it makes those who settle pushes of one repository wait for each other.
    await notePush(tx, services.jobs, intent.project_id, size, readme);
    const choice = which(await takeIntent(tx, intent.id, rest));
    if (choice === "none") return;
    const by = {
      project_id: intent.project_id,
      author_id: intent.user_id ?? (await ghostUser(tx)),
      key_id: intent.key_id,
    };
    await recordPush(
      tx,
      by,
      choice === "all" ? events : await untold(tx, intent.project_id, intent.created_at, events),
    );
    await noteActivity(tx, intent.project_id);
    if (branch !== undefined) await adoptDefaultBranch(tx, repository, project, branch);
  });
}

const placeOf = ({ db }: Pick<Services, "db">, id: number) =>
  db.write
    .selectFrom("projects")
    .select(["id", "repository_storage", "default_branch"])
    .where("id", "=", id)
    .executeTakeFirst();

/** At most hourly: every change of a project costs ten indexes. */
const noteActivity = (tx: Tx, projectId: number) =>
  sql`
    update projects set last_activity_at = now()
    where id = ${projectId} and last_activity_at < now() - interval '1 hour'`.execute(tx);

/** Settles pushes that were left by whoever worked on them, some at a time; tells how many there were. */
export async function settlePushes(services: Services): Promise<number> {
  const left = await claimLeft(services.db.write);
  for (const intent of left) {
    try {
      await settleLeft(services, intent);
    } catch (error) {
      services.log.warn({ err: error, push: intent.id }, "could not settle a push; it is tried again");
    }
  }
  return left.length;
}

async function settleLeft(services: Services, intent: LeftIntent) {
  if (intent.contested) return;
  const project = await placeOf(services, intent.project_id);
  if (!project) return;
  const repository = await repositoryOf(services, project, BACKGROUND);
  const done = await changesDone(repository, intent.changes);
  if (done.length > 0) await settleFound(services, { intent, repository, done }, intent.over);
  else if (intent.over) await dropIntent(services.db.write, intent.id);
  if (done.length > 0) services.log.info({ push: intent.id, refs: done.length }, "settled a push that was left");
}

/** Which changes are found in a repository. */
async function changesDone(repository: Repository, changes: readonly RefChange[]): Promise<RefChange[]> {
  const done: RefChange[] = [];
  for (const change of changes) {
    const value = (await repository.objects.info(change.ref))?.id ?? ZERO_ID;
    if (value === change.newId) done.push(change);
    else if (changes.length <= MOST_ANCESTORS && (await wentThrough(repository, change, value))) done.push(change);
  }
  return done;
}

/** Whether a ref that is elsewhere by now was where the change put it. */
async function wentThrough(repository: Repository, change: RefChange, value: string): Promise<boolean> {
  if (isRemoval(change) || value === ZERO_ID || value === change.oldId) return false;
  return isAncestor(repository, change.newId, value);
}

/** Whether one commit leads to another. */
export async function isAncestor(repository: Repository, ancestor: string, id: string): Promise<boolean> {
  const git = await repository.run({ command: "merge-base", options: ["--is-ancestor"], values: [ancestor, id] });
  git.output.resume();
  try {
    await git.ended;
    return true;
  } catch (error) {
    // 1 says no; 128 that there is no such commit, as where the objects of a push never came.
    const isNo = error instanceof GitFailed && !error.outOfMemory && (error.exitCode === 1 || error.exitCode === 128);
    if (isNo) return false;
    throw error;
  }
}

/** Settles what is left of pushes, at once and every few seconds. */
export function watchPushes(services: Services): { stop(): void } {
  let busy = false;
  const round = async () => {
    if (busy) return;
    busy = true;
    try {
      await settlePushes(services);
    } catch (error) {
      services.log.warn({ err: error }, "could not look for pushes that were left");
    } finally {
      busy = false;
    }
  };
  void round();
  const timer = setInterval(() => void round(), EVERY).unref();
  return { stop: () => clearInterval(timer) };
}
