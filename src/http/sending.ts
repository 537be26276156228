import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Consumer } from "#lib/consumer.ts";
import type { Charge, MemoryBudget } from "#lib/memory-budget.ts";
import { unavailable } from "#lib/refusal.ts";
import type { TransferRate } from "#lib/transfer-rate.ts";
import { watchAnswer } from "./timeouts.ts";

/** Answers up to this size are never refused for lack of memory. */
export const SMALL_ANSWER_BYTES = 64 * 1024;
/** A large body is written in pieces, so that the transfer rate is seen between them. */
const PIECE_BYTES = 64 * 1024;
const RETRY_SECONDS = 5;

export type Sending = ReturnType<typeof answerSending>;

/** Sends answers that the caller may take its time for, and bounds the memory that they hold meanwhile. */
export function answerSending(memory: MemoryBudget, rate: TransferRate) {
  const onceClosed = closeListeners();

  /** Charges for an answer until it was taken or the connection is closed. */
  const hold = (raw: ServerResponse, charge: Charge) => {
    const stop = watchAnswer(raw, rate);
    onceClosed(raw, () => {
      stop();
      charge.release();
    });
  };

  return {
    rate,
    onceClosed,
    /** Charges for an answer before it is built, or refuses it. */
    reserve(consumer: Consumer, bytes: number): Charge {
      if (!memory.hasRoom(consumer, bytes)) throw unavailable(RETRY_SECONDS);
      return memory.charge(consumer, bytes);
    },
    /** Charges for an answer that can no longer be refused. */
    charge: memory.charge,
    sendLarge(raw: ServerResponse, body: Buffer, charge: Charge) {
      charge.resize(body.length);
      hold(raw, charge);
      writePieces(raw, body);
    },
    /** Charges for a small answer that was not taken at once. Only those queued behind others need room for it. */
    holdUnsent(raw: ServerResponse, consumer: Consumer, bytes: number) {
      if (raw.socket !== null || memory.hasRoom(consumer, bytes)) hold(raw, memory.charge(consumer, bytes));
      else raw.req.socket.destroy();
    },
  };
}

function writePieces(raw: ServerResponse, body: Buffer) {
  let at = 0;
  const writeOn = () => {
    while (body.length - at > PIECE_BYTES) {
      const piece = body.subarray(at, (at += PIECE_BYTES));
      if (!raw.write(piece)) return void raw.once("drain", writeOn);
    }
    raw.end(body.subarray(at));
  };
  writeOn();
}

/**
 * Calls a listener once an answer was taken or its connection is closed. Node tells the latter only of the answer whose
 * turn it is, not of those that wait behind it on the same connection.
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
