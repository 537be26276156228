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

/** What a program asked the system for, and when. */
interface Call {
  readonly at: number;
  readonly text: string;
}

interface Watched {
  /** What all processes of git on the server made durable, in order. */
  readonly synced: readonly Call[];
  /** When the client read that its push was taken. */
  readonly told: number;
}

const GIT = "/usr/bin/git";
const REFS = ["refs/heads/main", "refs/heads/feature/one", "refs/tags/v1"];

/** What of a push was not on disk when its client was told that it was taken. */
function lateIn({ synced, told }: Watched, refs: readonly string[]): string[] {
  const isEarly = (path: RegExp) => synced.some(({ at, text }) => at < told && path.test(text));
  const wanted = new Map<string, RegExp>([
    ["the pack", /<[^>]*\/objects\/[^>]*pack\/tmp_pack_\w+>/],
    ["its index", /<[^>]*\/objects\/[^>]*pack\/tmp_idx_\w+>/],
    ...refs.map((ref) => [ref, new RegExp(`/${ref}\\.lock>`)] as const),
  ]);
  return [...wanted].filter(([, path]) => !isEarly(path)).map(([name]) => name);
}

describe("a push is on disk before its client is told so", () => {
  let installation: Installation;
  let client: Client;
  let directory: string;
  /** Put between the server and git: what the server runs is watched, with or without what makes it durable. */
  const watchServer = (option: string) =>
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
    await watchServer("");
    installation = await startInstallation({ PATH: `${directory}:${process.env["PATH"]}` });
    client = await newClient();
  });
  after(async () => {
    await installation.close();
    await client[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  async function pushed(name: string): Promise<{ project: Project; watched: Watched }> {
    const project = await installation.newProject(name);
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
    const told = (await callsIn(trace)).find(({ text }) => text.includes("unpack ok"));
    assert.ok(told, "the client was told");
    return { project, watched: { synced: calls.flat(), told: told.at } };
  }

  test("its objects and every ref", async () => {
    const { project, watched } = await pushed("Durable");
    assert.deepEqual(lateIn(watched, REFS), []);
    const { stdout } = await git(["for-each-ref", "--format=%(refname)"], {
      cwd: installation.directory(project) ?? "",
      env: { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" },
    });
    assert.deepEqual(stdout.trimEnd().split("\n").toSorted(), REFS.toSorted());
  });

  test("which would be noticed if it were not so", async () => {
    await watchServer("-c core.fsync=none");
    const { watched } = await pushed("Careless");
    assert.deepEqual(lateIn(watched, REFS), ["the pack", "its index", ...REFS]);
  });
});

/** Lines such as `4711 1763203923.123456 fsync(7</tmp/…>) = 0 <0.000321>`; the end of a call counts. */
async function callsIn(file: string): Promise<Call[]> {
  const calls: Call[] = [];
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
