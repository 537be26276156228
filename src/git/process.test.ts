import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Consumer, consumerOf } from "#lib/consumer.ts";
import { Refusal } from "#lib/refusal.ts";
import { until } from "#test/support/until.ts";
import { collect, type GitCall, type GitProcesses, gitProcesses } from "./process.ts";
import { GitFailed } from "./storages/storage.ts";

const searchPath = "/usr/local/bin:/usr/bin:/bin";

/** A git that runs a shell script, by an alias. */
const script = (text: string, rest: Partial<GitCall> = {}): GitCall => ({
  args: ["-c", `alias.scripted=!${text}`, "scripted"],
  timeoutMs: 120_000,
  slot: "short",
  ...rest,
});

const outputOf = async (processes: GitProcesses, call: GitCall) => {
  const git = await processes.start(call);
  const [output] = await Promise.all([collect(git.output), git.ended]);
  return output.toString();
};

const failed = (exitCode: number | null, stderr: RegExp) => (error: unknown) => {
  assert.ok(error instanceof GitFailed);
  assert.equal(error.exitCode, exitCode);
  assert.match(error.stderr, stderr);
  return true;
};
const isBusy = (error: unknown) => error instanceof Refusal && error.kind === "unavailable";

describe("git processes", () => {
  let directory: string;
  let processes: GitProcesses;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
    processes = gitProcesses({ slots: 4, searchPath });
  });
  after(async () => {
    await processes.close();
    await rm(directory, { recursive: true, force: true });
  });

  const isAlive = (pid: number) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  /** The pid that a script wrote to a file. */
  const pidIn = (file: string) =>
    until(`${file} has a pid`, async () => {
      const text = await readFile(join(directory, file), "utf8").catch(() => "");
      return text.endsWith("\n") && Number(text);
    });
  const gone = (...pids: number[]) => until("they are gone", async () => !pids.some(isAlive));

  test("git sees only the variables of our environment that it is meant to see", async () => {
    process.env["FAIRLEAD_TEST_SECRET"] = "secret";
    try {
      const shown = await outputOf(processes, script("env", { env: { GIT_PROTOCOL: "version=2" } }));
      const names = shown.split("\n").map((line) => line.split("=")[0]);
      for (const name of ["HOME", "LANG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_PROTOCOL"]) {
        assert.ok(names.includes(name), name);
      }
      const theirs = new Set([
        "GIT_CONFIG_PARAMETERS",
        "GIT_PREFIX",
        "GIT_EXEC_PATH",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "",
      ]);
      const ours = new Set(["PATH", "HOME", "LANG", "GIT_PROTOCOL", "GIT_TERMINAL_PROMPT", "GIT_ATTR_NOSYSTEM"]);
      const strange = names.filter(
        (name = "") => !theirs.has(name) && !ours.has(name) && !/^GIT_CONFIG_(GLOBAL|NOSYSTEM)$/.test(name),
      );
      assert.deepEqual(strange, []);
    } finally {
      delete process.env["FAIRLEAD_TEST_SECRET"];
    }
  });

  test("input is passed to git and its output is returned", async () => {
    const output = await outputOf(processes, { ...script("cat"), input: "one\ntwo\n" });
    assert.equal(output, "one\ntwo\n");
    const cat = await processes.start({ ...script("cat"), interactive: true });
    cat.input.write("first ");
    cat.input.end("second");
    assert.equal((await collect(cat.output)).toString(), "first second");
    await cat.ended;
  });

  test("a failure is reported, and need not be handled", async () => {
    await assert.rejects(outputOf(processes, script("echo wrong >&2; exit 7; :")), failed(7, /^wrong\n$/));
    const unseen = await processes.start(script("exit 3; :"));
    unseen.output.resume();
    await sleep(100);
  });

  test("10 MB on stderr do not block git, and only the end is kept", async () => {
    const noise = "head -c 10000000 /dev/zero | tr '\\0' 'x' >&2; echo; echo the end >&2; exit 1; :";
    await assert.rejects(outputOf(processes, script(noise)), (error: unknown) => {
      assert.ok(error instanceof GitFailed);
      assert.equal(error.stderr.length, 64 * 1024);
      assert.ok(error.stderr.endsWith("the end\n"));
      return true;
    });
  });

  test("a git that closes its input early is no error", async () => {
    const deaf = await processes.start({ ...script("exec <&-; sleep 0.2; echo done; :"), interactive: true });
    for (let at = 0; at < 50; at++) deaf.input.write(Buffer.alloc(100_000));
    assert.equal((await collect(deaf.output)).toString(), "done\n");
    await deaf.ended;
  });

  test("git is stopped with its children on timeout", async (t) => {
    const timers = t.mock.method(globalThis, "setTimeout");
    const slow = script(`sh -c 'echo $$ >${directory}/child; sleep 60' & echo $$ >${directory}/parent; wait; :`, {
      timeoutMs: 123_456,
    });
    const ended = assert.rejects(outputOf(processes, slow), failed(null, /^out of time\n/));
    const [child, parent] = await Promise.all([pidIn("child"), pidIn("parent")]);
    assert.ok(isAlive(child) && isAlive(parent));
    // The time runs out here, so that it does not before the script has begun.
    for (const { arguments: given } of timers.mock.calls) if (given[1] === slow.timeoutMs) given[0]();
    await ended;
    await gone(child, parent);
  });

  test("children that ignore SIGTERM are killed", async () => {
    const stubborn = script(`sh -c 'trap "" TERM; echo $$ >${directory}/stubborn; sleep 60; sleep 60' & wait; :`);
    const running = await processes.start(stubborn);
    running.output.resume();
    const child = await pidIn("stubborn");
    running.stop();
    await assert.rejects(running.ended, failed(null, /^stopped\n/));
    await gone(child);
  });

  test("no child outlives a git that succeeded", async () => {
    const running = await processes.start(
      script(
        `sh -c 'echo $$ >${directory}/left; exec sleep 60' >/dev/null 2>&1 & until [ -s ${directory}/left ]; do sleep 0.02; done; :`,
      ),
    );
    running.output.resume();
    await running.ended;
    await gone(await pidIn("left"));
  });

  test("git is stopped when its caller aborts, whether it runs or waits", async () => {
    const caller = new AbortController();
    const ended = assert.rejects(
      outputOf(processes, script("sleep 60; :", { signal: caller.signal })),
      failed(null, /^its caller is gone\n/),
    );
    await sleep(50);
    caller.abort(new Error("gone"));
    await ended;
    await assert.rejects(processes.start(script("sleep 60; :", { signal: caller.signal })), /gone/);
  });

  test("git is stopped when its output is closed", async () => {
    const running = await processes.start(script("sleep 60; :"));
    running.output.destroy();
    await assert.rejects(running.ended, failed(null, /^its output was closed\n/));
  });

  test("the slots of a class limit how many run and how many wait; more are refused", async () => {
    const few = gitProcesses({ slots: 1, searchPath });
    const endless = { ...script("cat"), interactive: true };
    const first = await few.start(endless);
    const of = (principal: string) => script("echo turn; :", { consumer: consumerOf("192.0.2.1", principal) });
    const waiting = Array.from({ length: 8 }, (_, at) => outputOf(few, of(`user ${at % 4}`)));
    await assert.rejects(few.start(of("user 5")), isBusy);
    for (const slot of ["heavy", "transfer", "batch", "maintenance"] as const) {
      assert.equal(await outputOf(few, script("echo other; :", { slot })), "other\n");
    }
    first.input.end();
    first.output.resume();
    for (const each of waiting) assert.equal(await each, "turn\n");
    await few.close();
  });

  const ofUser = (id: number, address = "192.0.2.1") => consumerOf(address, `user ${id}`);

  test("a principal, or the anonymous of a network, get a quarter of the slots, and a network half", async () => {
    const shared = gitProcesses({ slots: 8, searchPath });
    let running = 0;
    const stop = new AbortController();
    const take = (consumer: Consumer) =>
      void shared
        .start({ ...script("cat"), interactive: true, slot: "transfer", signal: stop.signal, consumer })
        .then(() => running++)
        .catch(() => {});
    const granted = (count: number) => until(`${count} run`, async () => running === count);
    for (let at = 0; at < 4; at++) take(ofUser(1));
    await granted(2);
    for (let at = 0; at < 4; at++) take(ofUser(1, `198.51.100.${at}`));
    for (let at = 0; at < 4; at++) take(consumerOf("203.0.113.1"));
    await granted(4);
    for (let id = 2; id < 5; id++) take(ofUser(id, "203.0.113.1"));
    await granted(6);
    await sleep(50);
    assert.equal(running, 6);
    take(ofUser(6, "203.0.113.6"));
    await granted(7);
    stop.abort();
    await shared.close();
  });

  test("git and its children allocate no more memory than their limit", async () => {
    const small = gitProcesses({ slots: 1, transferMemory: 48 * 2 ** 20, searchPath });
    const input = Buffer.alloc(64 * 2 ** 20);
    const hash: GitCall = { args: ["hash-object", "--stdin"], input, slot: "transfer", timeoutMs: 120_000 };
    const isTooLarge = (error: unknown) => error instanceof GitFailed && error.exitCode === 128 && error.outOfMemory;
    await assert.rejects(outputOf(small, hash), isTooLarge);
    await assert.rejects(outputOf(small, script("git hash-object --stdin", { input, slot: "transfer" })), isTooLarge);
    assert.equal((await outputOf(small, { ...hash, slot: "short" })).length, 41);
    await small.close();
  });

  test("no shell interprets the arguments", async () => {
    const hostile = "$(id) `id` ; id '\"* $0 ~ \\n";
    const shown = await outputOf(processes, {
      ...script('printf "%s" "$1"'),
      args: [...script("printf %s").args, hostile],
    });
    assert.equal(shown, hostile);
  });

  test("a git that cannot be started fails and releases its slot", async () => {
    const nowhere = gitProcesses({ slots: 1, searchPath: "/nonexistent" });
    await assert.rejects(outputOf(nowhere, script("true")), failed(null, /ENOENT/));
    await assert.rejects(outputOf(nowhere, script("true")), failed(null, /ENOENT/), "the slot was released");
  });

  test("closing stops all processes and refuses new ones", async () => {
    const closing = gitProcesses({ slots: 2, searchPath });
    const running = await closing.start(script("sleep 60; :"));
    running.output.resume();
    const ended = assert.rejects(running.ended, failed(null, /^stopped\n/));
    await closing.close();
    await ended;
    await assert.rejects(closing.start(script("true")), isBusy);
  });
});
