import type { Logger } from "pino";
import { type Finding, good, warning } from "./findings.ts";

const ADVICE = "running as root: a flaw in it or in git would be root's; start it as a user of its own";

const isRoot = () => process.getuid?.() === 0;

/** Says once at the start that a process has more rights than it needs. */
export function warnIfRoot(log: Logger) {
  if (isRoot()) log.warn(`Fairlead is ${ADVICE}`);
}

/** The same for the person who looks over an installation. */
export const checkUser = (): Finding =>
  isRoot() ? warning(`This is ${ADVICE}`) : good(`Runs as user ${process.getuid?.() ?? "of this system"}`);
