import { once } from "node:events";
import { connect } from "node:net";
import { type RunningServer, startServer } from "#test/support/server.ts";
import { until } from "#test/support/until.ts";

/** A request whose head is sent, while the test decides when the body follows. */
export async function begin(server: RunningServer, username: string) {
  const body = JSON.stringify({
    username,
    name: "In flight",
    email: `${username}@example.com`,
    force_random_password: true,
  });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  await once(socket, "connect");
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
  const closed = once(socket, "close");
  socket.write(
    `POST /api/v4/users HTTP/1.1\r\nhost: 127.0.0.1\r\nprivate-token: ${server.token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  );
  return {
    async finish() {
      socket.write(body.slice(10));
      await closed;
      return received;
    },
    async cutOff() {
      await closed;
      return received;
    },
  };
}

/** A server that only this test uses and may stop. */
export async function served(work: (server: RunningServer) => Promise<void>) {
  const server = await startServer();
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

/** Waits until the server is no longer ready, and returns the status that says so, if it answers. */
export const untilRefused = ({ url }: RunningServer): Promise<number | "refused"> =>
  until("it is not ready", async () => {
    const status = await fetch(`${url}/-/readiness`).then(
      (answer) => answer.status,
      () => "refused" as const,
    );
    return status !== 200 && status;
  });
