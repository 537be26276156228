import { type Insertable, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { parseCommit, titleOf } from "#git/objects/commits.ts";
import { allLines } from "#git/objects/output.ts";
import { isCreation, isRemoval, type RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";

/** The number under which a push is kept among the actions. */
const PUSHED = 5;
/** More refs than this of one kind to which one thing happened are one event. */
const MOST_ALONE = 3;
const MOST_COUNTED = 10_000;
const MOST_OF_TITLE = 70;
const LONGEST_COMMIT = 1024 * 1024;
/** Milliseconds. */
const COUNTING = 5_000;

type Columns = Insertable<Database["events"]>;

/** What happened to a ref, or to so many refs, as an event tells it. */
type PushEvent = Required<
  Pick<
    Columns,
    "push_action" | "ref_type" | "ref" | "commit_from" | "commit_to" | "commit_count" | "commit_title" | "ref_count"
  >
>;

/** The events that tell of changes to branches and tags. Where git does not say in time how many commits, none say. */
export async function describePush(
  repository: Repository,
  defaultBranch: string | null,
  changes: readonly RefChange[],
): Promise<PushEvent[]> {
  const groups = Map.groupBy(changes, (change) => `${actionOf(change)} ${typeOf(change)}`);
  const events = [...groups.values()].map(async (group) => {
    if (group.length > MOST_ALONE) return [bulkEvent(group)];
    return Promise.all(group.map((change) => describe(repository, defaultBranch, change)));
  });
  return (await Promise.all(events)).flat();
}

const actionOf = (change: RefChange) => (isCreation(change) ? "created" : isRemoval(change) ? "removed" : "pushed");
const typeOf = ({ ref }: RefChange) => (ref.startsWith("refs/tags/") ? "tag" : "branch");
const kindOf = (change: RefChange) => ({ push_action: actionOf(change), ref_type: typeOf(change) }) as const;

function bulkEvent(group: readonly RefChange[]): PushEvent {
  const nothing = { ref: null, commit_from: null, commit_to: null, commit_count: 0, commit_title: null };
  return { ...kindOf(group[0] as RefChange), ...nothing, ref_count: group.length };
}

async function describe(repository: Repository, defaultBranch: string | null, change: RefChange): Promise<PushEvent> {
  const removed = isRemoval(change);
  return {
    ...kindOf(change),
    ref: change.ref.replace(/^refs\/(?:heads|tags)\//, ""),
    commit_from: isCreation(change) ? null : change.oldId,
    commit_to: removed ? null : change.newId,
    commit_count: removed ? 0 : await countOf(repository, defaultBranch, change).catch(() => null),
    commit_title: removed ? null : await titleAt(repository, change.newId).catch(() => null),
    ref_count: null,
  };
}

/** How many commits came: of a new branch those that the default one lacks, of a new tag none. */
async function countOf(repository: Repository, defaultBranch: string | null, change: RefChange): Promise<number> {
  if (isCreation(change) && typeOf(change) === "tag") return 0;
  const main = `refs/heads/${defaultBranch}`;
  const without = !isCreation(change) ? change.oldId : change.ref !== main ? main : undefined;
  const [count] = await allLines(repository, {
    command: "rev-list",
    options: ["--count", `--max-count=${MOST_COUNTED}`, "--ignore-missing", "--stdin"],
    input: without === undefined ? `${change.newId}\n` : `${change.newId}\n^${without}\n`,
    timeout: COUNTING,
  });
  return Number(count);
}

/** The first line of a commit, or of the commit that a tag leads to. */
async function titleAt(repository: Repository, id: string): Promise<string | null> {
  const commit = await repository.objects.read(`${id}^{commit}`, LONGEST_COMMIT);
  if (!commit) return null;
  const title = [...titleOf(parseCommit(commit).message).replaceAll("\0", "")];
  return title.length > MOST_OF_TITLE ? `${title.slice(0, MOST_OF_TITLE - 3).join("")}...` : title.join("");
}

/** Whose push it was, in which project. */
interface PushedBy {
  readonly project_id: number;
  readonly author_id: number;
  readonly key_id: number | null;
}

export async function recordPush(tx: Tx, by: PushedBy, events: readonly PushEvent[]) {
  if (events.length === 0) return;
  await tx
    .insertInto("events")
    .values(events.map((event) => ({ ...by, action: PUSHED, ...event })))
    .execute();
}

/**
 * Those of the events that nobody told yet. A ref leaves a place once: if an event since then says that it left where
 * this one has it from, what was found in the repository is the work of that push.
 */
export async function untold(
  tx: Tx,
  projectId: number,
  since: string,
  events: readonly PushEvent[],
): Promise<PushEvent[]> {
  const { rows } = await sql<PushEvent>`
    select push_action, ref_type, ref, commit_from, ref_count from events
    where project_id = ${projectId} and created_at >= ${since}::timestamptz and action = ${sql.lit(PUSHED)}
      and (ref is null or ref = any(${events.flatMap(({ ref }) => ref ?? [])}::text[]))`.execute(tx);
  const told = new Set(rows.map(sign));
  return events.filter((event) => !told.has(sign(event)));
}

const sign = ({ push_action, ref_type, ref, commit_from, ref_count }: PushEvent) =>
  JSON.stringify(ref === null ? [push_action, ref_type, ref_count] : [ref_type, ref, commit_from]);
