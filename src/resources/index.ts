import type { Resources } from "#http/app.ts";
import { health } from "./health/routes.ts";
import { referenceOf } from "./reference/routes.ts";
import { personalAccessTokens } from "./tokens/routes.ts";
import { users } from "./users/routes.ts";
import { versions } from "./version/routes.ts";

/** Every operation that Fairlead serves, by resource; its name in logs, metrics and documents is `resource.operation`. */
export const resources: Resources = {
  users,
  personalAccessTokens,
  versions,
  health,
  reference: referenceOf(() => resources),
};
