import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Consumer } from "#lib/consumer.ts";
import type { Charge, MemoryBudget } from "#lib/memory-budget.ts";
import { unavailable } from "#lib/refusal.ts";
import type { TransferRate } from "#lib/transfer-rate.ts";
import { watchResponse } from "./timeouts.ts";

/** Responses up to this size are never refused for lack of memory. */
export const SMALL_RESPONSE_BYTES = 64 * 1024;
/** A large body is written in chunks, so that the transfer rate is measured between them. */
const CHUNK_BYTES = 64 * 1024;
const RETRY_SECONDS = 5;

export type Sending = ReturnType<typeof responseSending>;

/** Sends responses and bounds the memory of those that clients are slow to receive. */
export function responseSending(memory: MemoryBudget, rate: TransferRate) {
  const onceClosed = closeListeners();

  /** Charges for a response until it was received or the connection is closed. */
  const hold = (raw: ServerResponse, charge: Charge) => {
    const stop = watchResponse(raw, rate);
    onceClosed(raw, () => {
      stop();
      charge.release();
    });
  };

  return {
    rate,
    onceClosed,
    /** Charges for a response before it is built, or refuses it. */
    reserve(consumer: Consumer, bytes: number): Charge {
      if (!memory.hasRoom(consumer, bytes)) throw unavailable(RETRY_SECONDS);
      return memory.charge(consumer, bytes);
    },
    /** Charges for a response that can no longer be refused. */
    charge: memory.charge,
    sendLarge(raw: ServerResponse, body: Buffer, charge: Charge) {
      charge.resize(body.length);
      hold(raw, charge);
      writeChunks(raw, body);
    },
    /** Charges for a small response that was not received at once. Only one that is queued behind others needs room. */
    holdUnsent(raw: ServerResponse, consumer: Consumer, bytes: number) {
      if (raw.socket !== null || memory.hasRoom(consumer, bytes)) hold(raw, memory.charge(consumer, bytes));
      else raw.req.socket.destroy();
    },
  };
}

function writeChunks(raw: ServerResponse, body: Buffer) {
  let at = 0;
  const writeNext = () => {
    while (body.length - at > CHUNK_BYTES) {
      const chunk = body.subarray(at, (at += CHUNK_BYTES));
      if (!raw.write(chunk)) return void raw.once("drain", writeNext);
    }
    raw.end(body.subarray(at));
  };
  writeNext();
}

/**
 * Calls a listener once a response was received or its connection is closed. Node emits `close` only for the current
 * response of a connection, not for those that are queued behind it.
 */
function closeListeners() {
  const waiting = new WeakMap<Socket, Set<() => void>>();
  return (raw: ServerResponse, listener: () => void) => {
    const { socket } = raw.req;
    if (socket.destroyed) return listener();
    let listeners = waiting.get(socket);
    if (!listeners) {
      const all = (listeners = new Set());
      waiting.set(socket, all);
      socket.once("close", () => {
        for (const each of all) each();
        all.clear();
      });
    }
    const ofSocket = listeners.add(listener);
    const done = () => void (ofSocket.delete(listener) && listener());
    raw.once("finish", done).once("close", done);
  };
}
