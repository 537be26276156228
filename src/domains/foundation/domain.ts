import type { Constraints } from "#db/errors.ts";
import type { SeedStep } from "#db/seed.ts";
import type { Resources } from "#http/app.ts";
import type { AnyJob } from "#jobs/define.ts";
import type { Deletions } from "./deletions/deletions.ts";
import type { SeedSize } from "./seed.ts";

/** What a domain contributes to the product; `src/domains/index.ts` merges the contributions of all domains. */
export interface Domain {
  /** Its endpoints, by resource and operation. */
  readonly resources?: Resources;
  /** Its jobs; those that delete a user, group or project get the deletions of all domains. */
  readonly jobs?: readonly AnyJob[] | ((deletions: Deletions) => readonly AnyJob[]);
  /** What callers are told when a constraint of its tables refuses a row, by the name of the constraint. */
  readonly constraints?: Constraints;
  /** What it does when a user, group or project is deleted. */
  readonly deletions?: Deletions;
  /** Steps of the seed, which may build on those of the domains below. */
  readonly seeds?: readonly SeedStep<SeedSize>[];
}
