import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { type RunningServer, startServer } from "#test/support/server.ts";
import { until } from "#test/support/until.ts";

const SOCKETS = 60;
const FILE_BYTES = 3_900_000;
const MAX_GROWTH_MEGABYTES = 150;

const residentMegabytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

describe("a server with clients that request large responses and do not read them", () => {
  let server: RunningServer;
  let target: string;
  const sockets: Socket[] = [];

  before(async () => {
    server = await startServer({ FAIRLEAD_SSH_PORT: "off" });
    const made = await fetch(`${server.url}/api/v4/projects`, {
      method: "POST",
      headers: { "private-token": server.token, "content-type": "application/json" },
      body: JSON.stringify({ name: "harbour" }),
    });
    const { id, path_with_namespace } = (await made.json()) as { id: number; path_with_namespace: string };
    const cwd = await workingCopy();
    await writeFile(join(cwd, "cargo"), randomBytes(FILE_BYTES));
    await gitOutput(["add", "cargo"], { cwd });
    await gitOutput(["commit", "--quiet", "-m", "cargo"], { cwd });
    const address = `${server.url.replace("//", `//any:${server.token}@`)}/${path_with_namespace}.git`;
    await gitOutput(["push", "--quiet", address, "main"], { cwd });
    target = `/api/v4/projects/${id}/repository/files/cargo?ref=main`;
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop();
    await removeWorkingCopies();
  });

  const get = (path: string) => fetch(server.url + path, { headers: { "private-token": server.token } });

  /** Requests the file and reads only the head of the response. */
  async function headOnly(): Promise<string> {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => {});
    socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nprivate-token: ${server.token}\r\n\r\n`);
    return new Promise((resolve) => {
      socket.once("data", (chunk) => {
        socket.pause();
        resolve(chunk.toString("latin1").split("\r\n\r\n", 1)[0] ?? "");
      });
    });
  }

  test("holds few of the responses in memory, refuses the rest and serves other clients", async () => {
    // The first response warms up what every later one uses.
    const { size } = (await (await get(target)).json()) as { size: number };
    assert.equal(size, FILE_BYTES);
    const before = residentMegabytes(server.pid);
    const heads = await Promise.all(Array.from({ length: SOCKETS }, headOnly));
    const growth = residentMegabytes(server.pid) - before;

    const user = await get("/api/v4/user");
    assert.equal(user.status, 200);
    await user.body?.cancel();
    assert.ok(growth < MAX_GROWTH_MEGABYTES, `memory grew by ${Math.round(growth)} MB`);
    const refused = heads.filter((head) => !head.startsWith("HTTP/1.1 200 "));
    assert.ok(refused.length > 0 && refused.length < SOCKETS, `${refused.length} were refused`);
    for (const head of refused) {
      assert.match(head, /^HTTP\/1\.1 503 /);
      assert.match(head, /^retry-after: \d+\r$/m);
      assert.doesNotMatch(head, /^etag:/m);
    }

    for (const socket of sockets) socket.destroy();
    await until("the memory is free again", async () => {
      const answer = await get(target);
      await answer.body?.cancel();
      return answer.status === 200;
    });
  });
});
