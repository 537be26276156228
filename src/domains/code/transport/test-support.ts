import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { gitOutput, workingCopy } from "#test/support/git.ts";
import { gitProcesses } from "#test/support/git-processes.ts";
import { type RunningServer, startServer } from "#test/support/server.ts";
import { until } from "#test/support/until.ts";

/** Runs a server with a project of the administrator. */
export async function served(
  work: (server: RunningServer, address: string) => Promise<void>,
  env: Record<string, string> = {},
) {
  const server = await startServer({ FAIRLEAD_SSH_PORT: "off", ...env });
  try {
    const made = await fetch(`${server.url}/api/v4/projects`, {
      method: "POST",
      headers: { "private-token": server.token, "content-type": "application/json" },
      body: JSON.stringify({ name: "harbour" }),
    });
    const { path_with_namespace } = (await made.json()) as { path_with_namespace: string };
    await work(server, `${server.url.replace("//", `//any:${server.token}@`)}/${path_with_namespace}.git`);
  } finally {
    await server.stop();
  }
}

/** The answer to a push that succeeded. */
export const PUSHED = /unpack ok\n.*ok refs\/heads\/main\n/s;

/** Begins a push, up to the first bytes of its pack, and waits until git runs; `finish` sends the rest. */
export async function beginPush(server: RunningServer, address: string): Promise<{ finish(): Promise<string> }> {
  const copy = await workingCopy();
  const id = await gitOutput(["rev-parse", "HEAD"], { cwd: copy });
  const packed = join(copy, ".git", "objects", "pack", "pack");
  const name = await gitOutput(["pack-objects", "--quiet", "--revs", packed], { cwd: copy, input: `${id}\n` });
  const pack = readFileSync(`${packed}-${name}.pack`);
  const { hostname, port, pathname, username, password } = new URL(address);
  const asked = request({
    method: "POST",
    host: hostname,
    port,
    path: `${pathname}/git-receive-pack`,
    agent: false,
    auth: `${username}:${password}`,
    headers: { "content-type": "application/x-git-receive-pack-request" },
  });
  const line = `${"0".repeat(40)} ${id} refs/heads/main\0 report-status`;
  asked.write(`${(line.length + 4).toString(16).padStart(4, "0")}${line}0000`);
  asked.write(pack.subarray(0, 20));
  const answered = once(asked, "response") as Promise<[IncomingMessage]>;
  await until("git receives it", async () => (await gitProcesses("receive-pack", server.pid)).length > 0);
  return {
    async finish() {
      asked.end(pack.subarray(20));
      const [answer] = await answered;
      return text(answer);
    },
  };
}
