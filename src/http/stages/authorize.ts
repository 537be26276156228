import type { Authenticated } from "#access/authenticate.ts";
import { forbidden } from "#lib/refusal.ts";
import type { Route } from "#http/route.ts";
import type { Received } from "./receive.ts";

/** What the access rule grants to the handler. */
export type Granted = object;

/** Checks plan and access rule. The rule sees the caller and the names in the path, never query or body. */
export function authorize(
  { services, endpoint, isInPlan }: Route,
  { path, origin }: Received,
  { principal, row }: Authenticated,
): Granted | Promise<Granted> {
  if (!isInPlan)
    throw forbidden(`Requires the ${endpoint.plan === "ultimate" ? "Ultimate" : "Premium or Ultimate"} plan`);
  const { config, settings, db } = services;
  return endpoint.access.check({ config, settings, db, principal, row, path, ...origin });
}
