import { resources } from "#domains/index.ts";
import { operationsOf } from "#http/app.ts";
import { pagedOf } from "#http/route.ts";
import type { Answered } from "./ask.ts";
import type { Tally } from "./tally.ts";

/** These lists come from git; PostgreSQL only decides who may read them. */
const FROM_GIT = "/repository/";

/** Checks that the suite requested every list. */
export function checkCoverage(answered: readonly Answered[], { check }: Tally) {
  const paths = answered.filter(({ list }) => list !== undefined).map(({ request }) => request.path);
  for (const { endpoint } of operationsOf(resources)) {
    const { method, path, returns } = endpoint;
    if (method !== "GET" || !pagedOf(returns) || path.includes(FROM_GIT)) continue;
    const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, "[^/?]+")}(?:[?]|$)`);
    check(
      paths.some((asked) => pattern.test(asked)),
      () => `no request for ${path}`,
    );
  }
}
