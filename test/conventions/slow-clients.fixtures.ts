import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { gitOutput, removeWorkingCopies, workingCopy } from "#test/support/git.ts";
import { startServer } from "#test/support/server.ts";

export const SOCKETS = 60;
export const FILE_BYTES = 3_900_000;

export type LargeFile = Awaited<ReturnType<typeof serveLargeFile>>;

/** A server of a large file, and clients that request it and do not read it. */
export async function serveLargeFile() {
  const server = await startServer({ FAIRLEAD_SSH_PORT: "off" });
  const sockets: Socket[] = [];
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
  const target = `/api/v4/projects/${id}/repository/files/cargo?ref=main`;

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
  const disconnect = () => {
    for (const socket of sockets) socket.destroy();
  };

  return {
    target,
    pid: server.pid,
    get: (path: string) => fetch(server.url + path, { headers: { "private-token": server.token } }),
    /** Requests the file many times at once, and returns the heads of the responses. */
    headsOnly: () => Promise.all(Array.from({ length: SOCKETS }, headOnly)),
    disconnect,
    async close() {
      disconnect();
      await server.stop();
      await removeWorkingCopies();
    },
  };
}
