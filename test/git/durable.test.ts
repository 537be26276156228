import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { git } from "#test/support/git.ts";
import { type Client, newClient } from "./client.ts";
import { type Installation, type Project, startInstallation } from "./installation.ts";

/** A system call and when it ended. */
interface SystemCall {
  readonly at: number;
  readonly text: string;
}

interface TracedPush {
  /** The fsync calls of all git processes on the server, in order. */
  readonly synced: readonly SystemCall[];
  /** When the client read the report. */
  readonly reportedAt: number;
}

const GIT = "/usr/bin/git";
const REFS = ["refs/heads/main", "refs/heads/feature/one", "refs/tags/v1"];

/** The parts of a push that were not on disk when the client read the report. */
function lateIn({ synced, reportedAt }: TracedPush, refs: readonly string[]): string[] {
  const isEarly = (path: RegExp) => synced.some(({ at, text }) => at < reportedAt && path.test(text));
  const wanted = new Map<string, RegExp>([
    ["the pack", /<[^>]*\/objects\/[^>]*pack\/tmp_pack_\w+>/],
    ["its index", /<[^>]*\/objects\/[^>]*pack\/tmp_idx_\w+>/],
    ...refs.map((ref) => [ref, new RegExp(`/${ref}\\.lock>`)] as const),
  ]);
  return [...wanted].filter(([, path]) => !isEarly(path)).map(([name]) => name);
}

describe("durability of pushes", () => {
  let installation: Installation;
  let client: Client;
  let directory: string;
  /** Installs a wrapper that traces the git of the server. */
  const traceServer = (option: string) =>
    writeFile(
      join(directory, "git"),
      `#!/bin/sh
case " $* " in
  *" receive-pack "*) exec strace -f -ttt -T -y -e trace=fsync,fdatasync -o ${directory}/server.$$ ${GIT} ${option} "$@" ;;
esac
exec ${GIT} "$@"
`,
      { mode: 0o755 },
    );

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-durable-"));
    await chmod(directory, 0o755);
    await traceServer("");
    installation = await startInstallation({ PATH: `${directory}:${process.env["PATH"]}` });
    client = await newClient();
  });
  after(async () => {
    await installation.close();
    await client[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  async function tracedPush(name: string): Promise<{ project: Project; traced: TracedPush }> {
    const project = await installation.createProject(name);
    const ids = await client.commitsOn(
      name,
      REFS.map(() => undefined),
    );
    const address = installation.address(project, { username: "root", token: installation.server().token });
    const trace = join(directory, "client");
    const child = spawn(
      "strace",
      [
        ...["-f", "-ttt", "-s", "100000", "-e", "trace=read,recvfrom", "-o", trace],
        ...[GIT, "push", "--quiet", address, ...REFS.map((ref, n) => `${ids[n]}:${ref}`)],
      ],
      { cwd: client.directory, stdio: "inherit", env: { PATH: process.env["PATH"], HOME: "/nonexistent" } },
    );
    const [code] = (await once(child, "close")) as [number | null];
    assert.equal(code, 0);
    const files = (await readdir(directory)).filter((file) => file.startsWith("server."));
    const calls = await Promise.all(files.map((file) => callsIn(join(directory, file))));
    for (const file of files) await rm(join(directory, file));
    const report = (await callsIn(trace)).find(({ text }) => text.includes("unpack ok"));
    assert.ok(report, "the client read the report");
    return { project, traced: { synced: calls.flat(), reportedAt: report.at } };
  }

  test("objects and refs are on disk before the client reads the report", async () => {
    const { project, traced } = await tracedPush("Durable");
    assert.deepEqual(lateIn(traced, REFS), []);
    const { stdout } = await git(["for-each-ref", "--format=%(refname)"], {
      cwd: installation.directory(project) ?? "",
      env: { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" },
    });
    assert.deepEqual(stdout.trimEnd().split("\n").toSorted(), REFS.toSorted());
  });

  test("without fsync the test would fail", async () => {
    await traceServer("-c core.fsync=none");
    const { traced } = await tracedPush("Careless");
    assert.deepEqual(lateIn(traced, REFS), ["the pack", "its index", ...REFS]);
  });
});

/** Parses lines such as `4711 1763203923.123456 fsync(7</tmp/…>) = 0 <0.000321>`; the time is the end of the call. */
async function callsIn(file: string): Promise<SystemCall[]> {
  const calls: SystemCall[] = [];
  const begun = new Map<string, string>();
  for (const line of (await readFile(file, "latin1")).split("\n")) {
    const [, pid = "", at = "", text = "", took = "0"] = /^(\d+) +(\d+\.\d+) (.*?)(?: <(\d+\.\d+)>)?$/.exec(line) ?? [];
    if (text.endsWith("<unfinished ...>")) begun.set(pid, text);
    else {
      calls.push({ at: Number(at) + Number(took), text: `${begun.get(pid) ?? ""}${text}` });
      begun.delete(pid);
    }
  }
  return calls;
}
