import type { Socket } from "node:net";
import type { Connection } from "ssh2";

const KEXINIT = 20;
/** A client with six keys sends about 15. */
const MAX_PACKETS_BEFORE_AUTHENTICATION = 100;
/** A new key exchange is due when either has passed since the last one; RFC 4253 recommends an hour and a gigabyte. */
const MIN_REKEY_INTERVAL_MS = 5_000;
const MIN_REKEY_BYTES = 512 * 1024;

/**
 * Closes a connection whose client makes the server compute more than it needs. A key exchange costs as much as
 * hundreds of packets, so an anonymous client gets one, and an authenticated one cannot repeat it all the time.
 */
export function limitPackets(client: Connection, socket: Socket, end: () => void) {
  let anonymousPackets = 0;
  let lastRekey: { at: number; bytes: number } | undefined;
  let ended = false;

  function isAllowed(type: number | undefined): boolean {
    if (!client.authenticated) return type !== KEXINIT && ++anonymousPackets <= MAX_PACKETS_BEFORE_AUTHENTICATION;
    if (type !== KEXINIT) return true;
    const rekey = { at: performance.now(), bytes: socket.bytesRead + socket.bytesWritten };
    const isDue =
      !lastRekey ||
      rekey.at - lastRekey.at >= MIN_REKEY_INTERVAL_MS ||
      rekey.bytes - lastRekey.bytes >= MIN_REKEY_BYTES;
    lastRekey = rekey;
    return isDue;
  }

  filterPackets(client, (type) => {
    if (ended) return false;
    if (isAllowed(type)) return true;
    ended = true;
    end();
    return false;
  });
}

/**
 * Drops packets that arrive after the first key exchange, before ssh2 acts on them. Its `rekey` event comes too late,
 * when the exchange has been computed, so this wraps the function that ssh2 passes each decrypted packet to.
 */
function filterPackets(client: Connection, isAllowed: (type: number | undefined) => boolean) {
  const { _protocol: protocol } = client as unknown as { _protocol: { _onPayload: (payload: Buffer) => unknown } };
  const { _onPayload: onPayload } = protocol;
  Object.assign(protocol, {
    _onPayload: (payload: Buffer) => (isAllowed(payload[0]) ? onPayload(payload) : undefined),
  });
}
