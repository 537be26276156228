import type { Constraints } from "#db/errors.ts";
import type { SeedStep } from "#db/seed.ts";
import type { Resources } from "#http/app.ts";
import type { AnyJob } from "#jobs/define.ts";
import { activity } from "./activity/index.ts";
import { attention } from "./attention/index.ts";
import { code } from "./code/index.ts";
import { conversation } from "./conversation/index.ts";
import { mergeDeletions } from "./foundation/deletions/deletions.ts";
import type { Domain } from "./foundation/domain.ts";
import { foundation } from "./foundation/index.ts";
import type { SeedSize } from "./foundation/seed.ts";
import { identity } from "./identity/index.ts";
import { infrastructure } from "./infrastructure/index.ts";
import { monitoring } from "./monitoring/index.ts";
import { organization } from "./organization/index.ts";
import { EPIC_TODOS } from "./planning/epics/todos.ts";
import { planning } from "./planning/index.ts";
import { ISSUE_TODOS } from "./planning/issues/todos.ts";
import { review } from "./review/index.ts";
import { MERGE_REQUEST_TODOS } from "./review/merge-requests/todos.ts";
import { platform } from "./platform/index.ts";
import { storage } from "./storage/index.ts";

/** Every kind of item, with its to-dos. Domains below those of the kinds get them here. */
const todos = [ISSUE_TODOS, EPIC_TODOS, MERGE_REQUEST_TODOS];
const kinds = todos.map(({ items }) => items.kind);

/** Every domain, from the bottom up. */
export const domains: Readonly<Record<string, Domain>> = {
  foundation,
  identity,
  storage,
  organization,
  code,
  conversation: conversation(kinds),
  attention: attention(todos),
  planning: planning(kinds),
  review,
  activity,
  infrastructure,
  monitoring,
  platform: platform(() => resources),
};

const all = Object.values(domains);

/** Every operation that Fairlead serves, by resource; its name in logs, metrics and documents is `resource.operation`. */
export const resources: Resources = mergeResources(all.map((domain) => domain.resources ?? {}));

/** What every domain does when a user, group or project is deleted, from the top down: rows go before what they name. */
export const deletions = mergeDeletions(all.toReversed().flatMap((domain) => domain.deletions ?? []));

/** Every job that a worker knows. */
export const jobs: readonly AnyJob[] = all.flatMap(({ jobs: own = [] }) =>
  typeof own === "function" ? own(deletions) : own,
);

/** What callers are told when a constraint of the schema refuses a row, by the name of the constraint. */
export const constraints: Constraints = Object.assign({}, ...all.map((domain) => domain.constraints));

/** Every step of the seed; each builds on those before it. */
export const seeds: readonly SeedStep<SeedSize>[] = all.flatMap((domain) => domain.seeds ?? []);

/** A resource may have operations in several domains: a user's memberships are answered by organization. */
function mergeResources(lists: readonly Resources[]): Resources {
  const names = new Set(lists.flatMap((list) => Object.keys(list)));
  return Object.fromEntries([...names].map((name) => [name, Object.assign({}, ...lists.map((list) => list[name]))]));
}
