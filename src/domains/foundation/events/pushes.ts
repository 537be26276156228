import { type Insertable, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { parseCommit, titleOf } from "#git/objects/commits.ts";
import { allLines } from "#git/objects/output.ts";
import { isCreation, isRemoval, type RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";
import { ACTIONS } from "./record.ts";

/** If a push does the same to more refs of one type than this, they share one event. */
const MAX_SINGLE_EVENTS = 3;
const MAX_COUNTED = 10_000;
const MAX_TITLE_LENGTH = 70;
const MAX_COMMIT_BYTES = 1024 * 1024;
const COUNT_TIMEOUT_MS = 5_000;

type Columns = Insertable<Database["events"]>;

/** The columns of an event that describe what happened to one ref, or to many at once. */
type PushEvent = Required<
  Pick<
    Columns,
    "push_action" | "ref_type" | "ref" | "commit_from" | "commit_to" | "commit_count" | "commit_title" | "ref_count"
  >
>;

/** Describes changes of branches and tags as events; the commit count is null if git cannot count in time. */
export async function describePush(
  repository: Repository,
  defaultBranch: string | null,
  changes: readonly RefChange[],
): Promise<PushEvent[]> {
  const groups = Map.groupBy(changes, (change) => `${actionOf(change)} ${typeOf(change)}`);
  const events = [...groups.values()].map(async (group) => {
    if (group.length > MAX_SINGLE_EVENTS) return [bulkEvent(group)];
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

/** Counts the pushed commits: for a new branch those missing from the default branch, for a new tag none. */
async function countOf(repository: Repository, defaultBranch: string | null, change: RefChange): Promise<number> {
  if (isCreation(change) && typeOf(change) === "tag") return 0;
  const main = `refs/heads/${defaultBranch}`;
  const base = !isCreation(change) ? change.oldId : change.ref !== main ? main : undefined;
  const [count] = await allLines(repository, {
    command: "rev-list",
    options: ["--count", `--max-count=${MAX_COUNTED}`, "--ignore-missing", "--stdin"],
    input: base === undefined ? `${change.newId}\n` : `${change.newId}\n^${base}\n`,
    timeoutMs: COUNT_TIMEOUT_MS,
  });
  return Number(count);
}

/** The title of a commit, or of the commit that a tag points to. */
async function titleAt(repository: Repository, id: string): Promise<string | null> {
  const commit = await repository.objects.read(`${id}^{commit}`, MAX_COMMIT_BYTES);
  if (!commit) return null;
  const title = [...titleOf(parseCommit(commit).message).replaceAll("\0", "")];
  return title.length > MAX_TITLE_LENGTH ? `${title.slice(0, MAX_TITLE_LENGTH - 3).join("")}...` : title.join("");
}

/** Who pushed, and to which project. */
interface PushedBy {
  readonly project_id: number;
  readonly author_id: number;
  readonly key_id: number | null;
}

export async function recordPush(tx: Tx, by: PushedBy, events: readonly PushEvent[]) {
  if (events.length === 0) return;
  await tx
    .insertInto("events")
    .values(events.map((event) => ({ ...by, action: ACTIONS.pushed, ...event })))
    .execute();
}

/**
 * The events that no process has recorded yet. A ref moves away from a commit only once, so an event recorded since
 * then with the same ref and the same old commit describes the same push.
 */
export async function unrecorded(
  tx: Tx,
  projectId: number,
  since: string,
  events: readonly PushEvent[],
): Promise<PushEvent[]> {
  const { rows } = await sql<PushEvent>`
    select push_action, ref_type, ref, commit_from, ref_count from events
    where project_id = ${projectId} and created_at >= ${since}::timestamptz and action = ${sql.lit(ACTIONS.pushed)}
      and (ref is null or ref = any(${events.flatMap(({ ref }) => ref ?? [])}::text[]))`.execute(tx);
  const recorded = new Set(rows.map(identityOf));
  return events.filter((event) => !recorded.has(identityOf(event)));
}

const identityOf = ({ push_action, ref_type, ref, commit_from, ref_count }: PushEvent) =>
  JSON.stringify(ref === null ? [push_action, ref_type, ref_count] : [ref_type, ref, commit_from]);
