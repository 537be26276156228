import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { FLUSH, packet, packetsIn } from "#git/pkt-line.ts";
import { ZERO_ID } from "#git/refs.ts";
import { Refusal } from "#lib/refusal.ts";
import { gitOutput, workingCopy } from "#test/support/git.ts";
import { commit, packOf, type PushedProject, pushedProject, type Pushing, pushingApp } from "#test/support/pushing.ts";
import { until } from "#test/support/until.ts";
import { receivePush } from "./receive.ts";
import { reconcilePushes } from "./reconcile.ts";

describe("pushes", () => {
  let on: Pushing;
  before(async () => {
    on = await pushingApp();
  });
  after(() => on.close());

  /** Keeps pushes to a project from being recorded until the transaction ends, however long it waits for them. */
  async function lockRepository(tx: Tx, { id }: PushedProject) {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx);
    await sql`select from repositories where project_id = ${id} for no key update`.execute(tx);
  }

  describe("recorded as events", () => {
    const bare = { key_id: null, ref_count: null };

    test("creation, update and deletion of a branch are events", async () => {
      const { project, copy, first } = await pushedProject(on);
      const developer = await on.member(project, "developer");
      await commit(copy);
      const title = `${"Ⓐ".repeat(35)}${"🚢".repeat(36)}`;
      const third = await commit(copy, `  ${title}\nsecond line\n\nbody`);
      assert.equal((await on.push(copy, project, developer, "main", "main:next")).code, 0);
      assert.equal((await on.push(copy, project, developer, "--delete", "next")).code, 0);
      const cut = `${"Ⓐ".repeat(35)}${"🚢".repeat(32)}...`;
      const [owner, by] = [{ author_id: on.owner.id }, { author_id: developer.id }];
      const made = { push_action: "created", ref_type: "branch", commit_from: null };
      assert.deepEqual(await on.events(project), [
        { ...bare, ...owner, ...made, ref: "main", commit_to: first, commit_count: 1, commit_title: "Begin" },
        {
          ...{ ...bare, ...by, push_action: "pushed", ref_type: "branch", ref: "main" },
          ...{ commit_from: first, commit_to: third, commit_count: 2, commit_title: cut },
        },
        // No commits that the default branch does not have.
        { ...bare, ...by, ...made, ref: "next", commit_to: third, commit_count: 0, commit_title: cut },
        {
          ...{ ...bare, ...by, push_action: "removed", ref_type: "branch", ref: "next" },
          ...{ commit_from: third, commit_to: null, commit_count: 0, commit_title: null },
        },
      ]);
      assert.deepEqual(await on.intents(project), []);
    });

    test("tags are events with the title of their commit", async () => {
      const { project, copy, first } = await pushedProject(on);
      await gitOutput(["tag", "--annotate", "--message=Out", "v1"], { cwd: copy });
      const tag = await gitOutput(["rev-parse", "refs/tags/v1"], { cwd: copy });
      const blob = await gitOutput(["rev-parse", "main:README.md"], { cwd: copy });
      await gitOutput(["tag", "file", blob], { cwd: copy });
      await gitOutput(["tag", "plain"], { cwd: copy });
      assert.equal((await on.push(copy, project, on.owner, "--tags")).code, 0);
      const made = { ...bare, author_id: on.owner.id, push_action: "created", ref_type: "tag", commit_from: null };
      assert.deepEqual((await on.events(project)).slice(1), [
        { ...made, ref: "file", commit_to: blob, commit_count: 0, commit_title: null },
        { ...made, ref: "plain", commit_to: first, commit_count: 0, commit_title: "Begin" },
        { ...made, ref: "v1", commit_to: tag, commit_count: 0, commit_title: "Begin" },
      ]);
    });

    test("the same change of more than three refs is one event", async () => {
      const { project, copy, first } = await pushedProject(on);
      for (const name of ["a", "b", "c", "d"]) await gitOutput(["branch", name], { cwd: copy });
      for (const name of ["1", "2", "3"]) await gitOutput(["tag", name], { cwd: copy });
      assert.equal((await on.push(copy, project, on.owner, "--all")).code, 0);
      assert.equal((await on.push(copy, project, on.owner, "--tags")).code, 0);
      const events = (await on.events(project)).slice(1);
      assert.deepEqual(events[0], {
        ...{ author_id: on.owner.id, key_id: null, push_action: "created", ref_type: "branch", ref: null },
        ...{ commit_from: null, commit_to: null, commit_count: 0, commit_title: null, ref_count: 4 },
      });
      assert.deepEqual(
        events.slice(1).map(({ ref, commit_to, ref_count }) => [ref, commit_to, ref_count]),
        [
          ["1", first, null],
          ["2", first, null],
          ["3", first, null],
        ],
      );
    });

    test("events of a deploy key belong to its creator", async () => {
      const { project, copy, first } = await pushedProject(on);
      const robot = await on.openByKey(project);
      const second = await commit(copy);
      await sent(robot, [`${first} ${second} refs/heads/main`], await packOf(copy, second, first));
      const [, event] = await on.events(project);
      assert.equal(event?.["author_id"], on.owner.id);
      assert.ok(robot.principal.kind === "deploy key");
      assert.equal(event?.["key_id"], robot.principal.key.id);
    });

    test("a push updates last_activity_at of the project", async () => {
      const { project, copy } = await pushedProject(on);
      const { write } = on.app.services.db;
      await sql`update projects set last_activity_at = '2020-01-01' where id = ${project.id}`.execute(write);
      await commit(copy);
      await on.push(copy, project, on.owner, "main");
      const { rows } = await sql<{ active: boolean; pushed: boolean }>`
        select last_activity_at > now() - interval '1 minute' as active, pushed_at > now() - interval '1 minute' as pushed
        from projects p join repositories r on r.project_id = p.id where p.id = ${project.id}`.execute(write);
      assert.deepEqual(rows, [{ active: true, pushed: true }]);
    });
  });

  describe("to an empty repository", () => {
    const defaultOf = async (id: number) =>
      (await on.app.get(`/projects/${id}`, { token: on.owner.token })).body.default_branch;
    const headOf = (directory: string) => gitOutput(["symbolic-ref", "HEAD"], { cwd: directory });

    test("the pushed branch becomes the default one if that does not exist", async () => {
      const project = await on.project();
      const copy = await workingCopy();
      assert.equal(await defaultOf(project.id), "main");
      await gitOutput(["tag", "v0"], { cwd: copy });
      assert.equal((await on.push(copy, project, on.owner, "v0")).code, 0);
      assert.equal(await defaultOf(project.id), "main");
      assert.equal((await on.push(copy, project, on.owner, "main:trunk")).code, 0);
      assert.equal(await defaultOf(project.id), "trunk");
      assert.equal(await headOf(project.directory), "refs/heads/trunk");
      assert.equal((await on.push(copy, project, on.owner, "main:other")).code, 0);
      assert.equal(await defaultOf(project.id), "trunk");
    });

    test("of many branches a usual name becomes the default", async () => {
      const project = await on.project();
      const copy = await workingCopy();
      assert.equal((await on.push(copy, project, on.owner, "main:bug/1", "main:master", "main:zoo")).code, 0);
      assert.equal(await defaultOf(project.id), "master");
    });

    test("concurrent pushes agree on one default branch", async () => {
      const project = await on.project();
      const copy = await workingCopy();
      const names = ["one", "two", "three", "four"];
      const pushed = await Promise.all(names.map((name) => on.push(copy, project, on.owner, `main:${name}`)));
      assert.deepEqual(
        pushed.map(({ code }) => code),
        [0, 0, 0, 0],
      );
      const chosen = await defaultOf(project.id);
      assert.ok(names.includes(chosen));
      assert.equal(await headOf(project.directory), `refs/heads/${chosen}`);
    });
  });

  describe("rules", () => {
    test("a Developer neither rewrites nor deletes the default branch; a Maintainer may", async () => {
      const { project, copy, first } = await pushedProject(on);
      const developer = await on.member(project, "developer");
      const maintainer = await on.member(project, "maintainer");
      const second = await commit(copy);
      assert.equal((await on.push(copy, project, developer, "main")).code, 0);
      await gitOutput(["commit", "--quiet", "--amend", "--message=Other"], { cwd: copy });

      const forced = await on.push(copy, project, developer, "--force", "main", "main:side");
      assert.notEqual(forced.code, 0);
      assert.match(forced.stderr, /remote: You are not allowed to force push to the default branch: refs\/heads\/main/);
      assert.match(forced.stderr, /! \[remote rejected\] main -> main \(pre-receive hook declined\)/);
      const back = await on.push(copy, project, developer, "--force", `${first}:refs/heads/main`);
      assert.match(back.stderr, /not allowed to force push/);
      const deleted = await on.push(copy, project, developer, "--delete", "main");
      assert.match(deleted.stderr, /! \[remote rejected\] main \(you are not allowed to delete the default branch\)/);
      assert.equal(await on.refAt(project, "refs/heads/main"), second);
      assert.equal(await on.refAt(project, "refs/heads/side"), "");
      assert.equal((await on.events(project)).length, 2);
      assert.deepEqual(await on.intents(project), []);

      assert.equal((await on.push(copy, project, developer, "main:side")).code, 0);
      assert.equal((await on.push(copy, project, developer, "--force", `${first}:refs/heads/side`)).code, 0);
      assert.equal((await on.push(copy, project, developer, "--delete", "side")).code, 0);
      assert.equal((await on.push(copy, project, maintainer, "--force", "main")).code, 0);
      assert.equal((await on.push(copy, project, maintainer, "--delete", "main")).code, 0);
      assert.equal(await on.refAt(project, "refs/heads/main"), "");
    });

    test("a deploy key may do what a Developer may, whoever created it", async () => {
      const { project, copy, first } = await pushedProject(on);
      const robot = await on.openByKey(project);
      await gitOutput(["commit", "--quiet", "--amend", "--message=Other"], { cwd: copy });
      const other = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
      const pack = await packOf(copy, other);
      assert.match(await sent(robot, [`${first} ${ZERO_ID} refs/heads/main`]), /not allowed to delete/);
      assert.match(await sent(robot, [`${first} ${other} refs/heads/main`], pack), /hook declined/);
      assert.equal(await on.refAt(project, "refs/heads/main"), first);
    });

    test("a name that some file systems take for the default branch is protected too", async () => {
      const { project, copy, first } = await pushedProject(on);
      const developer = await on.member(project, "developer");
      assert.equal((await on.push(copy, project, on.owner, "main:MAIN")).code, 0);
      assert.notEqual((await on.push(copy, project, developer, "--delete", "MAIN")).code, 0);
      await gitOutput(["commit", "--quiet", "--amend", "--message=Other"], { cwd: copy });
      assert.notEqual((await on.push(copy, project, developer, "--force", "main:MAIN")).code, 0);
      assert.equal(await on.refAt(project, "refs/heads/MAIN"), first);
    });

    test("a wrong old id of the default branch changes nothing", async () => {
      const { project, copy, first } = await pushedProject(on);
      const opened = await on.open(await on.member(project, "developer"), project);
      const second = await commit(copy);
      assert.equal((await on.push(copy, project, on.owner, "main")).code, 0);
      // A fast-forward from an earlier id, and a creation.
      await gitOutput(["reset", "--quiet", "--hard", first], { cwd: copy });
      const third = await commit(copy);
      for (const from of [first, ZERO_ID]) {
        const answer = await sent(opened, [`${from} ${third} refs/heads/main`], await packOf(copy, third));
        assert.match(answer, /ng refs\/heads\/main/);
      }
      assert.equal(await on.refAt(project, "refs/heads/main"), second);
      assert.equal((await on.events(project)).length, 2);
    });

    test("only branches and tags are accepted, and the rest of a push succeeds", async () => {
      const { project, copy, first } = await pushedProject(on);
      const hex = "0123456789012345678901234567890123456789";
      const refused = [
        "refs/notes/x",
        "refs/fairlead/x",
        "refs/replace/x",
        "refs/pull/1/head",
        `refs/heads/${hex}`,
        "refs/heads/refs/heads/x",
        "refs/heads/HEAD",
        "refs/heads/-x",
      ];
      const pushed = await on.push(copy, project, on.owner, "main:good", ...refused.map((ref) => `${first}:${ref}`));
      assert.notEqual(pushed.code, 0);
      assert.match(pushed.stderr, /\[new branch\] +main -> good/);
      assert.match(
        pushed.stderr,
        /refs\/notes\/x \(only branches \(refs\/heads\/\) and tags \(refs\/tags\/\) can be pushed\)/,
      );
      assert.equal(pushed.stderr.match(/\[remote rejected\]/g)?.length, refused.length, pushed.stderr);
      const refs = await gitOutput(["for-each-ref", "--format=%(refname)"], { cwd: project.directory });
      assert.deepEqual(refs.split("\n"), ["refs/heads/good", "refs/heads/main"]);
      assert.equal((await on.events(project)).length, 2);
    });

    test("the accepted part of a push may have no objects", async () => {
      const { project, copy } = await pushedProject(on);
      assert.equal((await on.push(copy, project, on.owner, "main:old")).code, 0);
      await commit(copy);
      const pushed = await on.push(copy, project, on.owner, ":old", "main:refs/notes/x");
      assert.match(pushed.stderr, /\[deleted\] +old/);
      assert.match(pushed.stderr, /refs\/notes\/x \(only branches/);
    });

    test("a branch name is never run by a shell", async () => {
      const { project, copy, first } = await pushedProject(on);
      const name = "a'$(id>hacked)\";`id>hacked`&id>hacked\n".trim();
      await sql`update projects set default_branch = ${name} where id = ${project.id}`.execute(
        on.app.services.db.write,
      );
      const developer = await on.member(project, "developer");
      assert.equal((await on.push(copy, project, developer, `main:refs/heads/${name}`)).code, 0);
      await gitOutput(["commit", "--quiet", "--amend", "--message=Other"], { cwd: copy });
      const forced = await on.push(copy, project, developer, "--force", `main:refs/heads/${name}`);
      assert.match(forced.stderr, /not allowed to force push/);
      assert.equal(await on.refAt(project, `refs/heads/${name}`), first);
      const found = await readdir(project.directory, { recursive: true });
      assert.ok(!found.includes("hacked"));
    });

    test("an atomic push is refused as a whole", async () => {
      const { project, copy } = await pushedProject(on);
      const pushed = await on.push(copy, project, on.owner, "--atomic", "main:good", "main:refs/notes/x");
      assert.match(pushed.stderr, /main -> good \(refused with the rest of an atomic push\)/);
      assert.equal(await on.refAt(project, "refs/heads/good"), "");
    });

    test("plain push options are accepted, others refuse the push", async () => {
      const { project, copy } = await pushedProject(on);
      assert.equal(
        (await on.push(copy, project, on.owner, "-o", "ci.skip", "-o", "x=$(touch /tmp/x);", "main:a")).code,
        0,
      );
      const pushed = await on.push(copy, project, on.owner, "-o", "café", "main:b");
      assert.match(pushed.stderr, /main -> b \(a push option has 1 to 1024 printable ASCII characters\)/);
      assert.equal(await on.refAt(project, "refs/heads/b"), "");
    });

    test("a client that keeps sending is read to the end, and only then gets the refusal", async () => {
      const { project, first } = await pushedProject(on);
      const input = new PassThrough();
      input.write(listOf([`${ZERO_ID} ${first} refs/notes/x`]));
      const opened = await on.open(on.owner, project);
      const answer = await receivePush(on.app.services, opened, input, { halfDuplex: true });
      const report: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => report.push(chunk));
      const ended = once(answer, "end");
      const soon = { signal: AbortSignal.timeout(120_000) };
      for (let sent = 0; sent < 32; sent++) {
        if (!input.write(Buffer.alloc(1024 * 1024))) await once(input, "drain", soon);
      }
      assert.deepEqual(report, []);
      input.end();
      await ended;
      assert.match(Buffer.concat(report).toString(), /ng refs\/notes\/x/);
    });

    test("a client that keeps its side open until it has read the report gets it, refused or not", async () => {
      const { project, first } = await pushedProject(on);
      for (const [line, said] of [
        [`${ZERO_ID} ${first} refs/notes/x`, /ng refs\/notes\/x/],
        [`${first} ${ZERO_ID} refs/heads/main`, /(ok|ng) refs\/heads\/main/],
      ] as const) {
        const input = new PassThrough();
        input.write(listOf([line]));
        const answer = await receivePush(on.app.services, await on.open(on.owner, project), input);
        let text = "";
        answer.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
        const ended = once(answer, "end");
        await until(line, async () => said.test(text), 30_000);
        input.end();
        await ended;
      }
    });

    test("a client whose pack git stops reading is told why after it has sent everything", async () => {
      const { project, first } = await pushedProject(on);
      const input = new PassThrough();
      input.write(listOf([`${first} ${"1".repeat(40)} refs/heads/main`]));
      const { promise: failure, resolve: failed } = Promise.withResolvers<string>();
      const opened = await on.open(on.owner, project);
      const answer = await receivePush(on.app.services, opened, input, { failed, halfDuplex: true });
      const said: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => said.push(chunk));
      const ended = once(answer, "end");
      input.write(Buffer.from("PACK\0\0\0\u0002\0\0\0\u0001 no object"));
      input.write(randomBytes(100_000));
      assert.match(await failure, /^unpack /);
      assert.deepEqual(said, []);
      input.end();
      await ended;
      assert.match(Buffer.concat(said).toString("latin1"), /(fatal|error): .*unpack .*ng refs\/heads\/main/s);
    });

    test("one whose repository became read-only or moved after it was authorized", async () => {
      const { project, first } = await pushedProject(on);
      const opened = await on.open(on.owner, project);
      const push = async () => {
        const input = new PassThrough();
        input.end(listOf([`${first} ${ZERO_ID} refs/heads/main`]));
        return (await buffer(await receivePush(on.app.services, opened, input))).toString("latin1");
      };
      const sentence = /ng refs\/heads\/main The repository is temporarily read-only\. Please try again later\./;
      const { write } = on.app.services.db;
      const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const locking = on.app.services.db.transaction(async (tx) => {
        await sql`select from repositories where project_id = ${project.id} for update`.execute(tx);
        await sql`
          update repositories set read_only_until = now() + interval '1 hour'
          where project_id = ${project.id}`.execute(tx);
        locked.resolve();
        await released.promise;
      });
      await locked.promise;
      const answer = push();
      await until("the push waits for the end of the transaction", async () => {
        const { rows } = await sql`
          select from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into pushes%'
            and datname = current_database()`.execute(write);
        return rows.length > 0;
      });
      released.resolve();
      await locking;
      assert.match(await answer, sentence);
      await sql`update repositories set read_only_until = null, disk_path = disk_path || '-1-1'
        where project_id = ${project.id}`.execute(write);
      assert.match(await push(), sentence);
      assert.deepEqual(await on.intents(project), []);
    });

    test("a client that sends much gets the refusal too", async () => {
      const { project, copy } = await pushedProject(on);
      await gitOutput(["config", "http.postBuffer", "65536"], { cwd: copy });
      const noise = await gitOutput(["hash-object", "-w", "--stdin"], { cwd: copy, input: randomBytes(8_000_000) });
      await gitOutput(["tag", "noise", noise], { cwd: copy });
      const pushed = await on.push(copy, project, on.owner, "refs/tags/noise:refs/notes/noise");
      assert.match(pushed.stderr, /! \[remote rejected\] noise -> refs\/notes\/noise \(only branches/);
    });
  });

  describe("are answered only after they are recorded", () => {
    test("the intent exists while git runs, and is dropped if the client disconnects", async () => {
      const { project, copy, first } = await pushedProject(on);
      const second = await commit(copy);
      const opened = await on.open(on.owner, project);
      const input = new PassThrough();
      input.write(listOf([`${first} ${second} refs/heads/main`]));
      const answer = await receivePush(on.app.services, opened, input);
      const [intent] = await on.intents(project);
      assert.deepEqual([intent?.refs, intent?.old_ids, intent?.new_ids], [["refs/heads/main"], [first], [second]]);
      assert.equal(intent?.user_id, on.owner.id);
      input.destroy();
      await assert.rejects(buffer(answer));
      await reconcilePushes(on.app.services);
      assert.deepEqual(await on.intents(project), []);
      assert.equal((await on.events(project)).length, 1);
    });

    test("git stops when the caller disconnects", async () => {
      const { project, copy, first } = await pushedProject(on);
      const second = await commit(copy);
      const opened = await on.open(on.owner, project);
      const input = new PassThrough();
      input.write(listOf([`${first} ${second} refs/heads/main`]));
      const leaving = new AbortController();
      const answer = await receivePush(on.app.services, opened, input, { signal: leaving.signal });
      leaving.abort();
      await assert.rejects(buffer(answer));
      assert.equal(await on.refAt(project, "refs/heads/main"), first);
    });

    test("the report waits for the events", async () => {
      const { project, copy, first } = await pushedProject(on);
      const second = await commit(copy);
      const opened = await on.open(on.owner, project);
      const pack = await packOf(copy, second, first);
      let answered = false;
      let answer: Promise<string> | undefined;
      await on.app.services.db.write.transaction().execute(async (tx) => {
        await lockRepository(tx, project);
        answer = sent(opened, [`${first} ${second} refs/heads/main`], pack).finally(() => (answered = true));
        await until("the ref moved", async () => (await on.refAt(project, "refs/heads/main")) === second);
        await sleep(300);
        assert.equal(answered, false);
        assert.equal((await on.intents(project)).length, 1);
      });
      assert.match((await answer) ?? "", /ok refs\/heads\/main/);
      assert.equal((await on.events(project)).length, 2);
      assert.deepEqual(await on.intents(project), []);
    });

    test("a push that cannot be recorded is not acknowledged, and is recorded later", async () => {
      const hasty = await pushingApp({ env: { FAIRLEAD_LOCK_TIMEOUT: "1500" } });
      const { project, copy } = await pushedProject(hasty);
      const second = await commit(copy);
      await hasty.app.services.db.write.transaction().execute(async (tx) => {
        await lockRepository(tx, project);
        const pushed = await hasty.push(copy, project, hasty.owner, "main");
        assert.notEqual(pushed.code, 0);
        assert.doesNotMatch(pushed.stderr, /main -> main\n/);
      });
      assert.equal(await hasty.refAt(project, "refs/heads/main"), second);
      assert.equal((await hasty.events(project)).length, 1);
      await until("the push is recorded", async () => {
        await reconcilePushes(hasty.app.services);
        return (await hasty.intents(project)).length === 0;
      });
      assert.deepEqual((await hasty.events(project)).map(({ commit_to }) => commit_to).slice(1), [second]);
      await hasty.app.close();
    });

    test("the report has the form that the client requested", async () => {
      const { project, copy, first } = await pushedProject(on);
      const opened = await on.open(on.owner, project);
      const second = await commit(copy);
      const pack = await packOf(copy, second, first);
      const change = (name: string) => [`${ZERO_ID} ${second} refs/heads/${name}`];
      assert.deepEqual(packetsIn(await answerTo(opened, change("plain"), pack, "report-status")).map(String), [
        "unpack ok\n",
        "ok refs/heads/plain\n",
      ]);
      const bands = packetsIn(await answerTo(opened, change("bands"), pack, "report-status side-band-64k"));
      const report = Buffer.concat(bands.filter((part) => part[0] === 1).map((part) => part.subarray(1)));
      assert.deepEqual(packetsIn(report).map(String), ["unpack ok\n", "ok refs/heads/bands\n"]);
      assert.equal((await answerTo(opened, change("silent"), pack, "")).length, 0);
      const note = [`${ZERO_ID} ${second} refs/notes/x`];
      assert.deepEqual(packetsIn(await answerTo(opened, note, pack, "report-status")).map(String), [
        "unpack ok\n",
        "ng refs/notes/x only branches (refs/heads/) and tags (refs/tags/) can be pushed\n",
      ]);
      await assert.rejects(
        answerTo(opened, note, pack, ""),
        (error) => error instanceof Refusal && error.kind === "forbidden",
      );
      assert.equal((await answerTo(opened, [], Buffer.alloc(0), "")).length, 0);
      assert.equal((await on.events(project)).length, 4);
    });

    test("objects that git refuses change nothing", async () => {
      const { project, copy, first } = await pushedProject(on);
      const opened = await on.open(on.owner, project);
      const second = await commit(copy);
      const pack = await packOf(copy, second, first);
      pack[pack.length - 1] = (pack.at(-1) ?? 0) ^ 1;
      const answer = await sent(opened, [`${first} ${second} refs/heads/main`], pack);
      assert.match(answer, /unpack (?!ok)/);
      assert.match(answer, /ng refs\/heads\/main unpacker error/);
      assert.deepEqual(await on.intents(project), []);
      assert.equal((await on.events(project)).length, 1);
    });

    test("a stale lock of a killed git is removed", async () => {
      const { project, copy } = await pushedProject(on);
      await commit(copy);
      const lock = join(project.directory, "refs/heads/main.lock");
      await writeFile(lock, "");
      for (const times of [1, 2]) {
        const { code, stderr } = await on.push(copy, project, on.owner, "main");
        assert.notEqual(code, 0, `${times}`);
        assert.match(stderr, /Unable to create 'refs\/heads\/main\.lock'/);
        assert.ok(!stderr.includes("@hashed") && !stderr.includes(project.directory), stderr);
      }
      const old = Date.now() / 1000 - 3600;
      await utimes(lock, old, old);
      assert.notEqual((await on.push(copy, project, on.owner, "main")).code, 0);
      assert.equal((await on.push(copy, project, on.owner, "main")).code, 0);
      await rm(lock, { force: true });
    });
  });

  const listOf = (lines: readonly string[], capabilities = "report-status side-band-64k") =>
    Buffer.concat([...lines.map((line, at) => packet(at === 0 ? `${line}\0 ${capabilities}` : line)), FLUSH]);

  async function answerTo(
    opened: Parameters<typeof receivePush>[1],
    lines: string[],
    pack: Buffer,
    capabilities: string,
  ) {
    const input = new PassThrough();
    input.end(Buffer.concat([listOf(lines, capabilities), pack]));
    return buffer(await receivePush(on.app.services, opened, input));
  }

  const sent = async (opened: Parameters<typeof receivePush>[1], lines: string[], pack: Buffer = Buffer.alloc(0)) =>
    (await answerTo(opened, lines, pack, "report-status side-band-64k")).toString();
});
