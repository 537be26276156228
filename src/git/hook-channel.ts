import type { Duplex } from "node:stream";
import type { ConfirmPush } from "./storages/storage.ts";

/**
 * Answers the `pre-receive` hook: reads one line, writes `ok` or a reason for refusal. If this process dies, the hook
 * reads the end of the stream instead, and refuses.
 */
export function answerHook(channel: Duplex, confirm: ConfirmPush): void {
  // The hook dies with git when that is stopped.
  channel.on("error", () => {});
  channel.once("data", () => {
    confirm().then(
      (reason) => channel.end(reason === undefined ? "ok\n" : `${lineOf(reason)}\n`),
      () => channel.end(),
    );
  });
}

/** Formats a reason as a single line that cannot be mistaken for `ok`. */
const lineOf = (reason: string): string => `refused ${reason.replaceAll(/\p{Cc}/gu, " ")}`;
