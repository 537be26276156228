import type { Duplex } from "node:stream";
import type { ConfirmPush } from "./storages/storage.ts";

/**
 * Answers the one question of the hook `pre-receive`: a line comes in, `ok` or a reason for refusal goes out. If this
 * process dies, the hook reads the end of the stream instead, and refuses.
 */
export function answerHook(channel: Duplex, confirm: ConfirmPush): void {
  // The hook ends with git, whenever that is stopped.
  channel.on("error", () => {});
  channel.once("data", () => {
    confirm().then(
      (reason) => channel.end(reason === undefined ? "ok\n" : `${lineOf(reason)}\n`),
      () => channel.end(),
    );
  });
}

/** A reason that is never taken for the `ok`, nor for more than one line. */
const lineOf = (reason: string): string => `refused ${reason.replaceAll(/\p{Cc}/gu, " ")}`;
