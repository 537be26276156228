import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { acknowledgedWritesAreThere, check, noJobIsLost } from "#test/faults/invariants.ts";
import { slowJob } from "#test/faults/jobs.ts";
import { type Journal, newJournal, nextName } from "#test/faults/journal.ts";
import { endOf, holderOf, nextAttempt } from "#test/faults/ledger.ts";
import { addJobReliably } from "#test/faults/queueing.ts";
import { callerOf, type StatusReader } from "#test/faults/traffic.ts";

/** A connection is reset around a COMMIT, so that the writer cannot know whether it happened. */
export const commitReset: Fault = {
  name: "commit-reset",
  async run(cluster, times) {
    const journal = newJournal();
    const problems: string[] = [];
    const worker = cluster.startWorker(["git"], "proxied");
    for (let round = 0; round < times; round++) {
      for (const at of ["before", "after"] as const) problems.push(...(await resetRequest(cluster, journal, at)));
      const jobs = [resetJob(cluster, journal, "before"), resetJob(cluster, journal, "after")];
      problems.push(...(await Promise.all(jobs)).flat());
    }
    problems.push(...(await noJobIsLost(cluster, journal)));
    await worker.stop();
    problems.push(...(await check(cluster, journal)));
    const seen = `${times} requests and ${times} jobs each before and after their commit`;
    return { count: 4 * times, seen, problems };
  },

  controls: [
    {
      name: "a caller who takes an unknown end for success",
      sees: /are lost/,
      async run(cluster) {
        const journal = newJournal();
        await resetRequest(cluster, journal, "before", () => "done");
        return acknowledgedWritesAreThere(cluster, journal);
      },
    },
  ],
};

/** The caller retries: the second request finds what the first left, and never creates a second user. */
async function resetRequest(
  { proxy, webs: [web], admin, engine }: Cluster,
  journal: Journal,
  at: "before" | "after",
  read?: StatusReader,
): Promise<string[]> {
  const name = nextName(journal);
  const body = { username: name, name, email: `${name}@example.com`, force_random_password: true };
  const isHit = proxy.resetCommitOf(name, at);
  const first = await callerOf(web, admin, journal, read).write("user", name, "/users", body);
  const rows = await engine.query("select from users where username = $1", [name]);
  const there = rows.length === 1;
  const again = read ? undefined : await callerOf(web, admin, journal).call("POST", "/users", admin, body);

  const problems: string[] = [];
  if (!isHit()) problems.push(`${at}: no commit was hit`);
  if (first !== undefined) problems.push(`${at}: a broken commit was acknowledged`);
  if (there !== (at === "after")) problems.push(`${at}: the user is ${there ? "there" : "not there"}`);
  if (again && again.status !== (there ? 409 : 201)) problems.push(`${at}: the second try got ${again.status}`);
  return problems;
}

/** A job is attempted again only if its connection was reset before the commit. */
async function resetJob(cluster: Cluster, journal: Journal, at: "before" | "after"): Promise<string[]> {
  const key = await addJobReliably(cluster, journal, slowJob, "before", 500);
  const held = await holderOf(cluster, key);
  const isHit = cluster.proxy.resetCommitOf(key, at);
  await endOf(cluster, held);
  const again = await nextAttempt(cluster, held);
  const problems: string[] = [];
  if (!isHit()) problems.push(`${at}: no commit of ${key} was hit`);
  if ((again === undefined) !== (at === "after")) problems.push(`${at}: ${key} was ${again ? "" : "not "}tried again`);
  return problems;
}
