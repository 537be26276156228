/**
 * Runs inside the server, before its own code: puts back a destination that waits for a reader and for disk space, and
 * text between the lines of the log.
 */
import { registerHooks } from "node:module";

const TEXT_INTERVAL_MS = 1_000;

registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier === "#lib/log-destination.ts" ? new URL("waiting-destination.ts", import.meta.url).href : specifier,
      context,
    ),
});
setInterval(() => process.stdout.write("SSH is at another port\n"), TEXT_INTERVAL_MS).unref();
