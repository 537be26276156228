import { COMPARE_SMALL_FILES } from "#git/settings.ts";
import type { SlotClass } from "#git/slots.ts";
import { badRequest } from "#lib/refusal.ts";
import { PLUMBING, type PlumbingCall } from "./storage.ts";

/** Commands that compare the contents of files, which takes memory. */
const COMPARES_FILES: ReadonlySet<PlumbingCall["command"]> = new Set(["blame", "diff-tree", "merge-tree"]);

/** Commands that walk the history; some keep all of its commits in memory. */
const WALKS_HISTORY: ReadonlySet<PlumbingCall["command"]> = new Set(["merge-base", "rev-list"]);
const WALKING_OPTION = /^--(?:contains|merged)/;

/** The slot class of a command. */
export function slotOf({ command, options = [], timeoutMs, transfer }: PlumbingCall): SlotClass {
  if (timeoutMs === Infinity) return "batch";
  if (transfer) return "transfer";
  const walks = WALKS_HISTORY.has(command) || options.some((option) => WALKING_OPTION.test(option));
  return walks || COMPARES_FILES.has(command) ? "heavy" : "short";
}

/** Commands without `--end-of-options`. */
const WITHOUT_VALUES: ReadonlySet<string> = new Set(["blame", "fast-import"]);

/** Returns the arguments of a call; user input is placed where git cannot take it for an option. */
export function plumbingArguments({ command, options = [], values = [], paths = [] }: PlumbingCall): string[] {
  if (!PLUMBING.includes(command)) throw new TypeError(`git ${command as string} is not a permitted command`);
  if (WITHOUT_VALUES.has(command) && values.length > 0) throw new TypeError(`git ${command} takes no values`);
  if ([...values, ...paths].some((text) => text.includes("\0"))) throw badRequest("a name contains a zero byte");
  return [
    ...(COMPARES_FILES.has(command) ? [COMPARE_SMALL_FILES] : []),
    command,
    ...options,
    ...(values.length > 0 ? ["--end-of-options", ...values] : []),
    // `archive` takes everything after its first value for a path, even `--`.
    ...(paths.length > 0 && command !== "archive" ? ["--"] : []),
    ...paths,
  ];
}
