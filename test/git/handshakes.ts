import { connect } from "node:net";
import { randomFrom } from "./random.ts";

/** Opens a thousand connections to an SSH server that never complete their handshake. */
export function floodOfHandshakes(port: number): { end(): void } {
  const sockets = Array.from({ length: 1_000 }, (_, n) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      n % 2 === 0 ? "SSH-2.0-flood\r\n" : Buffer.concat([Buffer.from("SSH-2.0-flood\r\n"), randomFrom(n).bytes(500)]),
    );
    return socket;
  });
  return {
    end() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
