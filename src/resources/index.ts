import type { Endpoint } from "#http/endpoint.ts";
import { health } from "./health/routes.ts";
import { personalAccessTokens } from "./tokens/routes.ts";
import { users } from "./users/routes.ts";
import { versions } from "./version/routes.ts";

/** Every operation that Fairlead serves, by resource; its name in logs, metrics and documents is `resource.operation`. */
export const resources: Readonly<Record<string, Readonly<Record<string, Endpoint>>>> = {
  users,
  personalAccessTokens,
  versions,
  health,
};
