import type { Logger } from "pino";
import { type Finding, good, warning } from "./findings.ts";

const ADVICE = "running as root, so a flaw in it or in git would have root's rights; use a dedicated user";

const isRoot = () => process.getuid?.() === 0;

/** Warns at start that the process has more rights than it needs. */
export function warnIfRoot(log: Logger) {
  if (isRoot()) log.warn(`Fairlead is ${ADVICE}`);
}

/** The same as a finding of `fairlead doctor`. */
export const checkUser = (): Finding =>
  isRoot() ? warning(`This is ${ADVICE}`) : good(`Runs as user ${process.getuid?.() ?? "of this system"}`);
