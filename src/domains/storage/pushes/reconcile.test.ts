import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { RefChange } from "#git/push-commands.ts";
import { ZERO_ID } from "#git/refs.ts";
import { gitOutput } from "#test/support/git.ts";
import { commit, type PushedProject, pushedProject, type Pushing, pushingApp } from "#test/support/pushing.ts";
import type { RepositoryAccess } from "./access.ts";
import { createIntent } from "./intents.ts";
import { completePush, reconcilePushes, watchPushes } from "./reconcile.ts";
import { auditEntry } from "#http/audit.ts";
import { until } from "#test/support/until.ts";

const MAIN = "refs/heads/main";
const NOWHERE = "d".repeat(40);

const ORIGIN = { address: "203.0.113.7", requestId: "request of a push" };
const audit = auditEntry("repository_pushed", null, ORIGIN, { type: "Project", id: 1, name: "Any" });

describe("orphaned pushes", () => {
  let on: Pushing;
  before(async () => {
    on = await pushingApp();
  });
  after(() => on.close());

  const begin = async (access: RepositoryAccess, changes: readonly RefChange[]) => {
    const intent = await createIntent(on.app.services, access, changes, audit);
    assert.ok(intent);
    return intent;
  };

  /** Commits an intent like a process that dies right afterwards. */
  async function left(project: PushedProject, ...changes: RefChange[]): Promise<number> {
    const intent = await begin(await on.open(on.owner, project), changes);
    intent.releaseLease();
    await due(project);
    return intent.id;
  }

  const due = ({ id }: PushedProject) =>
    sql`update pushes set held_until = now() - interval '1 ms' where project_id = ${id}`.execute(
      on.app.services.db.write,
    );
  const overdue = ({ id }: PushedProject) =>
    sql`update pushes set held_until = now() - interval '1 ms', left_at = now() - interval '11 minutes' where project_id = ${id}`.execute(
      on.app.services.db.write,
    );
  const round = () => reconcilePushes(on.app.services);
  const refsLeft = async (project: PushedProject) => (await on.intents(project)).map(({ refs }) => refs);
  const toldOf = async (project: PushedProject) =>
    (await on.events(project)).map(({ push_action, ref, commit_from, commit_to }) => [
      push_action,
      ref,
      commit_from,
      commit_to,
    ]);
  /** For each transaction, the audit rows and events that it wrote for a project. */
  const recordings = async (project: PushedProject) => {
    const { rows } = await sql<{ events: number; audits: number }>`
      select count(*) filter (where kind = 'event') ::int as events,
        count(*) filter (where kind = 'audit')::int as audits from (
        select xmin::text as tx, 'event' as kind from events where project_id = ${project.id}
        union all select xmin::text, 'audit' from audit_events where request_id = ${ORIGIN.requestId}
          and xmin::text in (select xmin::text from events where project_id = ${project.id})
      ) written group by tx order by tx`.execute(on.app.services.db.write);
    return rows.map(({ events, audits }) => [events, audits]);
  };
  const audits = () =>
    on.app.services.db.write
      .selectFrom("audit_events")
      .select("id")
      .where("request_id", "=", ORIGIN.requestId)
      .execute();
  /** Changes the repository like a git process that outlives its server. */
  const become = ({ directory }: PushedProject, ref: string, id: string) =>
    gitOutput(id === ZERO_ID ? ["update-ref", "-d", ref] : ["update-ref", ref, id], { cwd: directory });

  /** A project with three commits; `main` points to the first. */
  async function prepared() {
    const { project, copy, first } = await pushedProject(on);
    const second = await commit(copy, "Second");
    const third = await commit(copy, "Third");
    await on.push(copy, project, on.owner, "main:refs/tags/keep");
    await sql`delete from events where project_id = ${project.id}`.execute(on.app.services.db.write);
    return { project, copy, first, second, third };
  }

  test("are recorded if they happened", async () => {
    const { project, first, second } = await prepared();
    await left(project, { ref: MAIN, oldId: first, newId: second });
    await become(project, MAIN, second);
    await round();
    const [event] = await on.events(project);
    assert.deepEqual(event, {
      ...{ author_id: on.owner.id, key_id: null, push_action: "pushed", ref_type: "branch", ref: "main" },
      ...{ commit_from: first, commit_to: second, commit_count: 1, commit_title: "Second", ref_count: null },
    });
    assert.deepEqual(await refsLeft(project), []);
    await round();
    assert.equal((await on.events(project)).length, 1);
  });

  test("are recorded if others pushed on top of them, and if they deleted something", async () => {
    const { project, first, second, third } = await prepared();
    await left(
      project,
      { ref: MAIN, oldId: first, newId: second },
      { ref: "refs/tags/keep", oldId: third, newId: ZERO_ID },
    );
    await become(project, MAIN, third);
    await become(project, "refs/tags/keep", ZERO_ID);
    await round();
    assert.deepEqual(await toldOf(project), [
      ["pushed", "main", first, second],
      ["removed", "keep", third, null],
    ]);
  });

  test("are checked again for ten minutes if they did not happen, and then dropped", async () => {
    const { project, first, second } = await prepared();
    await left(
      project,
      { ref: MAIN, oldId: first, newId: second },
      { ref: "refs/heads/x", oldId: ZERO_ID, newId: NOWHERE },
    );
    const before = (await audits()).length;
    await round();
    assert.equal((await refsLeft(project)).length, 1);
    await round();
    // Not due yet.
    const [row] = await on.intents(project);
    assert.ok(row?.left_at && row.held_until > row.left_at);
    await overdue(project);
    await round();
    assert.deepEqual(await refsLeft(project), []);
    assert.deepEqual(await toldOf(project), []);
    assert.equal((await audits()).length, before, "nothing happened that could be audited");
  });

  test("are recorded as they happen, each ref once", async () => {
    const { project, first, second, third } = await prepared();
    await left(
      project,
      { ref: MAIN, oldId: first, newId: second },
      { ref: "refs/heads/late", oldId: ZERO_ID, newId: third },
    );
    await become(project, MAIN, second);
    await round();
    assert.deepEqual(await refsLeft(project), [["refs/heads/late"]]);
    await become(project, "refs/heads/late", third);
    await due(project);
    await round();
    assert.deepEqual(await toldOf(project), [
      ["pushed", "main", first, second],
      ["created", "late", null, third],
    ]);
    assert.deepEqual(await recordings(project), [
      [1, 1],
      [1, 1],
    ]);
  });

  test("are not recorded if a forced update did not happen", async () => {
    const { project, first, second, third } = await prepared();
    await become(project, MAIN, third);
    await left(
      project,
      { ref: MAIN, oldId: third, newId: first },
      { ref: "refs/heads/gone", oldId: ZERO_ID, newId: second },
    );
    await overdue(project);
    await round();
    assert.deepEqual(await toldOf(project), []);
    assert.deepEqual(await refsLeft(project), []);
  });

  test("are not recorded again when the client retried and that was recorded", async () => {
    const { project, copy, first, second, third } = await prepared();
    await left(project, { ref: MAIN, oldId: first, newId: second });
    assert.equal((await on.push(copy, project, on.owner, `${third}:${MAIN}`)).code, 0);
    await round();
    assert.deepEqual(await toldOf(project), [["pushed", "main", first, third]]);
    assert.deepEqual(await refsLeft(project), []);
  });

  test("wait for a running push of the same refs", async () => {
    const { project, first, second } = await prepared();
    const change = { ref: MAIN, oldId: first, newId: second };
    await left(project, change);
    const opened = await on.open(on.owner, project);
    const again = await begin(opened, [change]);
    await become(project, MAIN, second);
    await round();
    assert.deepEqual(await toldOf(project), []);
    await completePush(on.app.services, { intent: again, repository: opened.repository, done: [change] });
    again.releaseLease();
    await due(project);
    await round();
    assert.deepEqual(await toldOf(project), [["pushed", "main", first, second]]);
  });

  test("are recorded once, by however many processes, even if their own process returns", async () => {
    const { project, first, second } = await prepared();
    const change = { ref: MAIN, oldId: first, newId: second };
    const opened = await on.open(on.owner, project);
    const intent = await begin(opened, [change]);
    intent.releaseLease();
    await become(project, MAIN, second);
    await due(project);
    const late = () => completePush(on.app.services, { intent, repository: opened.repository, done: [change] });
    const before = (await audits()).length;
    await Promise.all([round(), round(), late(), round()]);
    await late();
    assert.deepEqual(await toldOf(project), [["pushed", "main", first, second]]);
    assert.deepEqual(await recordings(project), [[1, 1]], "with one audit row in the same transaction");
    assert.equal((await audits()).length, before + 1, "and no other");
  });

  test("many refs are one event, also when the client retried", async () => {
    const { project, copy, first } = await prepared();
    const names = ["a", "b", "c", "d", "e"];
    await left(project, ...names.map((name) => ({ ref: `refs/heads/${name}`, oldId: ZERO_ID, newId: first })));
    assert.equal(
      (await on.push(copy, project, on.owner, ...names.map((name) => `${first}:refs/heads/${name}`))).code,
      0,
    );
    await round();
    assert.deepEqual(
      (await on.events(project)).map(({ ref_count }) => ref_count),
      [5],
    );
    assert.deepEqual(await refsLeft(project), []);
  });

  test("of a deleted user belong to the ghost user", async () => {
    const { project, first, second } = await prepared();
    await left(project, { ref: MAIN, oldId: first, newId: second });
    await sql`update pushes set user_id = null where project_id = ${project.id}`.execute(on.app.services.db.write);
    await become(project, MAIN, second);
    await round();
    const [event] = await on.events(project);
    const ghost = await on.app.services.db.write
      .selectFrom("users")
      .select("id")
      .where("user_type", "=", "ghost")
      .executeTakeFirst();
    assert.equal(event?.["author_id"], ghost?.id);
  });

  test("are deleted with their project", async () => {
    const { project, first, second } = await prepared();
    await left(project, { ref: MAIN, oldId: first, newId: second });
    await sql`delete from routes where project_id = ${project.id}`.execute(on.app.services.db.write);
    await sql`delete from projects where id = ${project.id}`.execute(on.app.services.db.write);
    assert.deepEqual(await refsLeft(project), []);
    await round();
  });

  test("one that cannot be reconciled does not hold up the others", async () => {
    const [lost, good] = [await prepared(), await prepared()];
    for (const { project, first, second } of [lost, good]) {
      await left(project, { ref: MAIN, oldId: first, newId: second });
      await become(project, MAIN, second);
    }
    await sql`update repositories set storage = 'elsewhere' where project_id = ${lost.project.id}`.execute(
      on.app.services.db.write,
    );
    await round();
    assert.equal((await refsLeft(lost.project)).length, 1);
    assert.equal((await on.events(good.project)).length, 1);
    await overdue(lost.project);
    await sql`delete from pushes where project_id = ${lost.project.id}`.execute(on.app.services.db.write);
  });

  test("are found by every process that reconciles", async () => {
    const { project, first, second } = await prepared();
    await left(project, { ref: MAIN, oldId: first, newId: second });
    await become(project, MAIN, second);
    const watching = watchPushes(on.app.services);
    await until("it is recorded", async () => (await on.events(project)).length === 1);
    watching.stop();
  });

  test("are leased by the process that works on them", async (t) => {
    const { project, first, second } = await prepared();
    t.mock.timers.enable({ apis: ["setInterval"] });
    const intent = await begin(await on.open(on.owner, project), [{ ref: MAIN, oldId: first, newId: second }]);
    await due(project);
    t.mock.timers.tick(5_000);
    t.mock.timers.reset();
    await until("it is held again", async () => {
      const { rows } = await sql<{ held: boolean }>`
        select held_until > now() + interval '10 seconds' as held from pushes where id = ${intent.id}`.execute(
        on.app.services.db.write,
      );
      return rows[0]?.held === true;
    });
    intent.releaseLease();
    await sql`delete from pushes where id = ${intent.id}`.execute(on.app.services.db.write);
  });
});
