import { gitOutput } from "#test/support/git.ts";
import type { Outcome } from "./client.ts";
import type { Installation, Project } from "./installation.ts";

/** A push and what the client knows of each of its refs. */
export interface PushRecord {
  readonly project: Project;
  readonly refs: readonly { readonly ref: string; readonly id: string; readonly outcome: Outcome }[];
  /** Whether all of its refs change or none. */
  readonly atomic?: boolean;
  readonly output: string;
}

interface EventRow {
  readonly ref: string | null;
  readonly commit_to: string | null;
  readonly ref_count: number | null;
}

/** More refs than these in one push are one event. */
const MAX_SINGLE_EVENTS = 3;

/** Compares a repository and its events with all pushes to it, and returns the problems. */
export async function problemsOf(
  installation: Installation,
  project: Project,
  pushes: readonly PushRecord[],
  { quick = false } = {},
): Promise<string[]> {
  const problems: string[] = [];
  const reachable = await historyOf(installation, project);
  const isThere = ({ ref, id }: { ref: string; id: string }) => reachable.get(ref)?.has(id) ?? false;
  const expected: EventRow[] = [];
  for (const { refs, atomic, output } of pushes) {
    const there = refs.filter(isThere);
    for (const each of refs) {
      const found = isThere(each);
      if (each.outcome === "done" && !found) problems.push(`${each.ref} was acknowledged and is lost`);
      if (each.outcome === "refused" && found) problems.push(`${each.ref} was refused and is there: ${output}`);
    }
    if (atomic && there.length > 0 && there.length < refs.length) {
      problems.push(`of an atomic push ${there.length} of ${refs.length} refs are there`);
    }
    if (there.length > MAX_SINGLE_EVENTS) expected.push({ ref: null, commit_to: null, ref_count: there.length });
    else expected.push(...there.map(({ ref, id }) => ({ ref: shortName(ref), commit_to: id, ref_count: null })));
  }
  problems.push(...compareEvents(expected, await eventsOf(installation, project)));
  problems.push(...(await auditProblems(installation, project)));
  for (const { refs, new_ids } of await intentsOf(installation, project)) {
    const there = refs.filter((ref, at) => isThere({ ref, id: new_ids[at] ?? "" }));
    if (there.length > 0) problems.push(`${there.join(", ")} changed and the push is not finished`);
  }
  if (!quick) problems.push(...(await installation.fsck(project)));
  return problems.map((problem) => `${project.path}: ${problem}`);
}

/** The target of each ref. */
export async function refsOf(installation: Installation, project: Project): Promise<Map<string, string>> {
  const cwd = installation.directory(project);
  if (cwd === undefined) return new Map();
  const listed = await inRepository(["for-each-ref", "--format=%(refname) %(objectname)"], cwd);
  const lines = listed.split("\n").filter(Boolean);
  return new Map(lines.map((line) => line.split(" ") as [string, string]));
}

/** The commits reachable from each ref. */
export async function historyOf(installation: Installation, project: Project): Promise<Map<string, Set<string>>> {
  const refs = await refsOf(installation, project);
  const cwd = installation.directory(project);
  if (cwd === undefined || refs.size === 0) return new Map();
  const lines = (await inRepository(["rev-list", "--parents", "--all"], cwd)).split("\n");
  const parents = new Map(lines.map((line) => [line.slice(0, 40), line.split(" ").slice(1)]));
  const reachableFrom = (id: string) => {
    const found = new Set([id]);
    for (const each of found) for (const parent of parents.get(each) ?? []) found.add(parent);
    return found;
  };
  return new Map([...refs].map(([ref, id]) => [ref, reachableFrom(id)]));
}

const trustingEnv = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" };
const inRepository = (args: readonly string[], cwd: string) => gitOutput(args, { cwd, env: trustingEnv });

const eventsOf = ({ query }: Installation, { id }: Project) =>
  query<EventRow>("select ref, commit_to, ref_count from events where project_id = $1 and push_action is not null", [
    id,
  ]);

/** Each transaction that recorded a push must have inserted one audit row, and no other transaction any. */
async function auditProblems({ query }: Installation, { id }: Project): Promise<string[]> {
  const rows = await query<{ recorded: boolean; audits: number }>(
    `with recorded as (select distinct xmin::text as tx from events where project_id = $1 and push_action is not null),
       audited as (select xmin::text as tx, count(*)::int as audits from audit_events
         where entity_type = 'Project' and entity_id = $1 and event = 'repository_pushed' group by 1)
     select r.tx is not null as recorded, coalesce(a.audits, 0) as audits
     from recorded r full join audited a on a.tx = r.tx where r.tx is null or a.audits is distinct from 1`,
    [id],
  );
  return rows.map(({ recorded, audits }) => `${audits} audit rows for ${recorded ? "a" : "no"} recorded push`);
}

/** The unfinished pushes; the intent of a failed one stays for a while. */
export const intentsOf = ({ query }: Installation, { id }: Project) =>
  query<{ refs: string[]; new_ids: string[] }>("select refs, new_ids from pushes where project_id = $1", [id]);

function compareEvents(expected: readonly EventRow[], found: readonly EventRow[]): string[] {
  const counts = new Map<string, number>();
  const count = (row: EventRow, by: number) => {
    const name = row.ref_count === null ? `${shortName(row.ref ?? "")} at ${row.commit_to}` : `${row.ref_count} refs`;
    counts.set(name, (counts.get(name) ?? 0) + by);
  };
  for (const row of found) count(row, 1);
  for (const row of expected) count(row, -1);
  return [...counts].flatMap(([name, surplus]) => {
    if (surplus === 0) return [];
    return surplus < 0 ? [`no event tells of ${name}`] : [`${surplus} events too many tell of ${name}`];
  });
}

const shortName = (ref: string) => ref.replace(/^refs\/(heads|tags)\//, "");
