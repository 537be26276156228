import { COMPARE_SMALL_FILES } from "#git/settings.ts";
import type { SlotClass } from "#git/slots.ts";
import { badRequest } from "#lib/refusal.ts";
import { PLUMBING, type PlumbingCall } from "./storage.ts";

/** Commands that compare the contents of files, which takes memory. */
const COMPARES_FILES: ReadonlySet<PlumbingCall["command"]> = new Set(["blame", "diff-tree", "merge-tree"]);

/** Commands that walk through history; some of them keep all of its commits in memory. */
const WALKS_HISTORY: ReadonlySet<PlumbingCall["command"]> = new Set(["merge-base", "rev-list"]);
const WALKING_OPTION = /^--(?:contains|merged)/;

/** The slots that a command takes. */
export function slotOf({ command, options = [], timeout, transfer }: PlumbingCall): SlotClass {
  if (timeout === Infinity) return "batch";
  if (transfer) return "transfer";
  const walks = WALKS_HISTORY.has(command) || options.some((option) => WALKING_OPTION.test(option));
  return walks || COMPARES_FILES.has(command) ? "heavy" : "short";
}

/** What knows no `--end-of-options`. */
const WITHOUT_VALUES: ReadonlySet<string> = new Set(["blame", "fast-import"]);

/** What comes from a person stands where git takes nothing for an option. */
export function plumbingArguments({ command, options = [], values = [], paths = [] }: PlumbingCall): string[] {
  if (!PLUMBING.includes(command)) throw new TypeError(`git ${command as string} is not for running`);
  if (WITHOUT_VALUES.has(command) && values.length > 0) throw new TypeError(`git ${command} takes no values`);
  if ([...values, ...paths].some((text) => text.includes("\0"))) throw badRequest("a name holds a zero byte");
  return [
    ...(COMPARES_FILES.has(command) ? [COMPARE_SMALL_FILES] : []),
    command,
    ...options,
    ...(values.length > 0 ? ["--end-of-options", ...values] : []),
    // `archive` takes all behind its first value for paths, a `--` too.
    ...(paths.length > 0 && command !== "archive" ? ["--"] : []),
    ...paths,
  ];
}
