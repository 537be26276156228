import type { Constraints } from "#db/errors.ts";
import { codeConstraints } from "./code/constraints.ts";
import { foundationConstraints } from "./foundation/constraints.ts";
import { identityConstraints } from "./identity/constraints.ts";
import { organizationConstraints } from "./organization/constraints.ts";

/** What callers are told when a constraint of the schema refuses a row, by the name of the constraint. */
export const constraints: Constraints = {
  ...foundationConstraints,
  ...identityConstraints,
  ...organizationConstraints,
  ...codeConstraints,
};
