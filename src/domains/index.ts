import type { Resources } from "#http/app.ts";
import { code } from "./code/index.ts";
import { identity } from "./identity/index.ts";
import { organization } from "./organization/index.ts";
import { platform } from "./platform/index.ts";

/** A resource may have operations in several domains: a user's memberships are answered by organization. */
function merge(lists: readonly Resources[]): Resources {
  const names = new Set(lists.flatMap((list) => Object.keys(list)));
  return Object.fromEntries([...names].map((name) => [name, Object.assign({}, ...lists.map((list) => list[name]))]));
}

/** The resources of each domain. */
export const domains: Readonly<Record<string, Resources>> = {
  identity,
  organization,
  code,
  platform: platform(() => resources),
};

/** Every operation that Fairlead serves, by resource; its name in logs, metrics and documents is `resource.operation`. */
export const resources: Resources = merge(Object.values(domains));
